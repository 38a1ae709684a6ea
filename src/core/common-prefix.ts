/** Characters that are compared as one string, by the language's own comparison: the longest first, since most texts go on from each other. */
const LONGEST = 1 << 17
const SHORTEST = 1 << 7

/** How many characters two texts share from the start. */
export function commonPrefix(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let at = 0
  for (let stretch = LONGEST; stretch >= SHORTEST; stretch >>= 2)
    while (at + stretch <= most && a.slice(at, at + stretch) === b.slice(at, at + stretch)) at += stretch
  while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at
}
