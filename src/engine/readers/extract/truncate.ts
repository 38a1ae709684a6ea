import type { ArtifactStat } from '../../../ports/artifact-store.ts'
import { readBytes } from '../lines/chunks.ts'
import { brokenBytes, grouped, wholeCharacters, type Reader } from '../reader.ts'

/** Half of the room from each end, whole characters, with the exact number of bytes between. */
export async function headAndTail(
  reader: Reader,
  stat: ArtifactStat,
  room: number,
): Promise<{ text: string; truncated: boolean }> {
  if (stat.bytes <= room) return { text: textOf(await readBytes(reader, stat, 0, stat.bytes)), truncated: false }
  const half = Math.floor((room - 60) / 2)
  const head = await readBytes(reader, stat, 0, half)
  const tail = await readBytes(reader, stat, stat.bytes - half, stat.bytes)
  const headEnd = wholeCharacters(head)
  const tailStart = brokenBytes(tail)
  const left = stat.bytes - headEnd - (tail.length - tailStart)
  return {
    text: `${textOf(head.subarray(0, headEnd))}\n[... omitted ${grouped(left)} of ${grouped(stat.bytes)} bytes ...]\n${textOf(tail.subarray(tailStart))}`,
    truncated: true,
  }
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
