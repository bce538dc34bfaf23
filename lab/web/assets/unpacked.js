// unpacked is a file of the folder programs as a response of a media type. The file is packed,
// but a server may have unpacked it on the way.
export async function unpacked(file, type) {
  const response = await fetch(new URL(`programs/${file}`, import.meta.url));
  if (!response.ok) throw new Error(`${file}: the server says ${response.status}`);
  const reader = response.body.getReader();
  const first = await reader.read();
  const stream = new ReadableStream({
    start(c) { if (first.value) c.enqueue(first.value); if (first.done) c.close(); },
    async pull(c) { const { done, value } = await reader.read(); if (done) c.close(); else c.enqueue(value); },
  });
  const packed = first.value?.[0] === 0x1f && first.value?.[1] === 0x8b;
  return new Response(packed ? stream.pipeThrough(new DecompressionStream("gzip")) : stream, { headers: { "Content-Type": type } });
}
