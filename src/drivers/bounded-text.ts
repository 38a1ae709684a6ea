/** The text of an answer, unpacked, up to a limit: a server must not be able to fill our memory. @throws Error for a longer one. */
export async function boundedText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += (chunk as Uint8Array).length
    if (size > maxBytes) throw new Error(`The answer is longer than ${maxBytes.toLocaleString('en')} bytes.`)
    chunks.push(chunk as Uint8Array)
  }
  return Buffer.concat(chunks).toString('utf8')
}
