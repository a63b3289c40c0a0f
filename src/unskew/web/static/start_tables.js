// Files of log and pool: sent one after the other, each with its progress, and listed once they have arrived.

import { base, call } from "./api.js";

const $ = (id) => document.getElementById(id);
let sending = 0, calls = null, path = "";

export const uploading = () => sending > 0;

function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB"];
  let k = 0;
  for (; bytes >= 1000 && k < 3; k += 1) bytes /= 1000;
  return `${k ? bytes.toPrecision(3) : bytes} ${units[k]}`;
}

function removable(role, file) {
  const item = document.createElement("li"), name = document.createElement("span"), button = document.createElement("button");
  name.textContent = `${file.name}, ${size(file.bytes)}`;
  name.dir = "auto";
  Object.assign(button, { type: "button", className: "small", textContent: "Remove", ariaLabel: `Remove ${file.name}` });
  button.addEventListener("click", async () => {
    try {
      calls.changed(await call("DELETE", `${path}/files/${role}?name=${encodeURIComponent(file.name)}`));
      $(`${role}-file`).focus();
    } catch (error) {
      calls.problem(error.message);
    }
  });
  item.append(name, button);
  return item;
}

export function listFiles(draft) {
  for (const role of ["log", "pool"]) {
    const sent = [...$(`${role}-files`).querySelectorAll(".sending")];
    $(`${role}-files`).replaceChildren(...draft[role].map((file) => removable(role, file)), ...sent);
  }
}

// With XMLHttpRequest, because fetch does not tell how much of a file was sent.
function send(role, file, bar) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", `${base}${path}/files/${role}?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("X-CSRF-Token", document.querySelector("meta[name=csrf]").content);
    request.upload.addEventListener("progress", (event) => { bar.value = event.loaded / Math.max(event.total, 1); });
    request.addEventListener("load", () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* not from our server */ }
      if (request.status === 201) resolve(answer);
      else reject(new Error(answer.detail || `the server answered ${request.status}`));
    });
    request.addEventListener("error", () => reject(new Error("The connection broke. Upload the file again.")));
    request.addEventListener("abort", () => reject(new Error("")));
    const stop = bar.parentElement.querySelector("button");
    stop.addEventListener("click", () => request.abort());
    request.send(file);
  });
}

async function upload(role, file, largest) {
  const item = document.createElement("li"), name = document.createElement("span");
  const bar = document.createElement("progress"), stop = document.createElement("button");
  item.className = "sending";
  name.textContent = `${file.name}, ${size(file.size)}`;
  bar.value = 0;
  bar.ariaLabel = `Upload of ${file.name}`;
  Object.assign(stop, { type: "button", className: "small", textContent: "Stop", ariaLabel: `Stop the upload of ${file.name}` });
  item.append(name, bar, stop);
  $(`${role}-files`).append(item);
  try {
    if (file.size > largest) throw new Error(`${file.name} has ${size(file.size)}, and ${size(largest)} are the most. Copy it to the server and name its path.`);
    const draft = await send(role, file, bar);
    item.remove();
    calls.changed(draft);
  } catch (error) {
    item.remove();
    calls.problem(error.message);
  }
}

export function watchUploads(draft, largest, callbacks) {
  [path, calls] = [draft, callbacks];
  for (const role of ["log", "pool"]) {
    const input = $(`${role}-file`);
    const arrived = async () => {
      const files = [...input.files];
      input.value = "";
      calls.problem("");
      sending += 1;
      calls.held();
      for (const file of files) await upload(role, file, largest);
      sending -= 1;
      calls.held();
    };
    input.addEventListener("change", arrived);
    if (input.files.length) arrived(); // chosen before this script was there
  }
}
