// The server's half of a WebSocket, as far as the stand-in needs it: short unfragmented text frames.
import { createHash } from "node:crypto";

const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Accepts the upgrade; calls back with each text the page sends. */
export function acceptSocket(request, stream, onText) {
  const key = createHash("sha1")
    .update(request.headers["sec-websocket-key"] + MAGIC)
    .digest("base64");
  stream.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
  );
  let rest = Buffer.alloc(0);
  stream.on("data", (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (let frame = takeFrame(rest); frame; frame = takeFrame(rest)) {
      rest = frame.rest;
      if (frame.opcode === 1) onText(frame.text);
      if (frame.opcode === 8) stream.end();
    }
  });
  stream.on("error", () => stream.destroy());
  return { send: (text) => stream.writable && stream.write(textFrame(text)), close: () => stream.end() };
}

function takeFrame(bytes) {
  if (bytes.length < 6) return null;
  const short = bytes[1] & 0x7f;
  const length = short === 126 ? bytes.readUInt16BE(2) : short;
  const start = short === 126 ? 4 : 2;
  if (bytes.length < start + 4 + length) return null;
  const mask = bytes.subarray(start, start + 4);
  const body = bytes.subarray(start + 4, start + 4 + length).map((byte, index) => byte ^ mask[index % 4]);
  return {
    opcode: bytes[0] & 0x0f,
    text: Buffer.from(body).toString(),
    rest: bytes.subarray(start + 4 + length),
  };
}

function textFrame(text) {
  const body = Buffer.from(text);
  const head =
    body.length < 126 ? Buffer.from([0x81, body.length]) : Buffer.alloc(body.length < 65536 ? 4 : 10);
  if (body.length >= 126) {
    head[0] = 0x81;
    head[1] = body.length < 65536 ? 126 : 127;
    if (body.length < 65536) head.writeUInt16BE(body.length, 2);
    else head.writeBigUInt64BE(BigInt(body.length), 2);
  }
  return Buffer.concat([head, body]);
}
