/** Parts of a multipart/form-data body by name, as bytes: the platform's own reader takes a part without a file for text. */
export function multipartParts(contentType: string, body: Buffer): Map<string, Buffer> | undefined {
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  if (boundary === null) return undefined;
  const delimiter = Buffer.from(`\r\n--${boundary[1] ?? boundary[2] ?? ""}`);
  const content = Buffer.concat([Buffer.from("\r\n"), body]);

  const parts = new Map<string, Buffer>();
  let start = content.indexOf(delimiter);
  while (start !== -1) {
    start += delimiter.length;
    if (content.toString("latin1", start, start + 2) === "--") return parts;
    const end = content.indexOf(delimiter, start);
    const headersEnd = content.indexOf("\r\n\r\n", start);
    if (end === -1 || headersEnd === -1 || headersEnd > end) return undefined;
    const name = /^content-disposition:.*[;\s]name="([^"]*)"/im.exec(
      content.toString("utf8", start, headersEnd),
    )?.[1];
    if (name !== undefined) parts.set(name, content.subarray(headersEnd + 4, end));
    start = end;
  }
  return undefined;
}
