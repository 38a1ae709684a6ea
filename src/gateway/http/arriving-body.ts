/** A body while it arrives. */
export interface ArrivingBody {
  /** Gives the bytes so far. */
  add(chunk: Buffer): number
  whole(): Buffer
}

/** Who announces more gets no room ahead: announcing costs nothing. */
const MOST_AHEAD = 4 * 1024 * 1024

/**
 * The pieces of a body of a known length are copied to where they belong as they come, so that each of them is garbage at once. Kept until
 * the last has come, those of many bodies at a time outlive two collections of young memory; then only one of all memory frees them, and
 * V8 starts such a one for every 64 MB of them.
 */
export function arrivingBody(announced: number): ArrivingBody {
  const chunks: Buffer[] = []
  let room: Buffer | undefined
  let size = 0
  return {
    add(chunk) {
      if (room === undefined && size === 0 && chunk.length < announced && announced <= MOST_AHEAD)
        room = Buffer.allocUnsafeSlow(announced)
      if (room === undefined) chunks.push(chunk)
      else room.set(chunk, size)
      size += chunk.length
      return size
    },
    whole() {
      if (room !== undefined) return room.subarray(0, size)
      return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)
    },
  }
}
