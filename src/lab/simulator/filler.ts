const WORDS = [
  'service', 'request', 'latency', 'worker', 'cluster', 'deploy', 'retry', 'timeout', 'session', 'index', 'replica',
  'shard', 'gateway', 'queue', 'commit', 'branch', 'metric', 'alert', 'volume', 'node', 'probe', 'ingress', 'token',
] // prettier-ignore

/** Text of exactly so many ASCII characters: lines of words and numbers, the same for the same seed. */
export function filler(characters: number, seed: number): string {
  let state = (seed * 2_654_435_761 + 12_345) >>> 0
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const words: string[] = []
  let length = 0
  for (let n = 1; length < characters; n++) {
    const word = n % 5 === 0 ? String(next(10_000)) : WORDS[next(WORDS.length)]!
    const piece = word + (n % 11 === 0 ? '\n' : ' ')
    words.push(piece)
    length += piece.length
  }
  // An end that is white space could be trimmed on the way; a letter cannot.
  return characters === 0 ? '' : `${words.join('').slice(0, characters - 1)}x`
}
