import type { Recording } from '../../src/lab/transcripts/recording.ts'

/** What every recording must obey, whatever its format. Returns what is wrong, in words. */
export function brokenInvariants(recording: Recording): readonly string[] {
  const broken: string[] = []
  let before = { from: 0, to: 0 }
  for (const call of recording.calls) {
    if (call.to > recording.messages.length || call.from > call.to)
      broken.push(`call ${call.index}: range out of bounds`)
    const newSegment = call.from !== before.from
    if (!newSegment && call.to < before.to) broken.push(`call ${call.index}: sends less than the call before it`)
    before = call
  }
  for (const call of recording.calls.filter((_, index, all) => index === all.length - 1 || index % 25 === 0)) {
    broken.push(...brokenPairs(recording, call.from, call.to).map((what) => `call ${call.index}: ${what}`))
    const body: unknown = JSON.parse(call.body())
    if (typeof body !== 'object' || body === null) broken.push(`call ${call.index}: body is no object`)
  }
  return broken
}

/** Every call that is not the provider's own has one result behind it, and every result a call before it. */
function brokenPairs(recording: Recording, from: number, to: number): readonly string[] {
  const open = new Set<string>()
  const called = new Set<string>()
  const broken: string[] = []
  for (const message of recording.messages.slice(from, to)) {
    for (const part of message.parts) {
      if (part.serverSide === true || part.callId === undefined) continue
      if (part.kind === 'call') {
        if (called.has(part.callId)) broken.push(`two calls ${part.callId}`)
        called.add(part.callId)
        open.add(part.callId)
      }
      if (part.kind === 'result' && !open.delete(part.callId)) broken.push(`result ${part.callId} without a call`)
    }
  }
  return [...broken, ...[...open].map((id) => `call ${id} without a result`)]
}
