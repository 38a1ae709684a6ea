/** Characters that are compared as one string: large enough for the engine's own comparison, small enough to throw away. */
const STRETCH = 4096

/** How many characters two texts share from the start. */
export function commonPrefix(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let at = 0
  while (at < most && a.slice(at, at + STRETCH) === b.slice(at, at + STRETCH)) at += STRETCH
  while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return Math.min(at, most)
}
