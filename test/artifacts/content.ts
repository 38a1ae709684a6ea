/** Content number `i`: up to 300 KB that no other number has, the same in every process. */
export function contentOf(i: number): Uint8Array {
  let state = i + 1
  return Uint8Array.from({ length: 1000 + ((i * 7919) % 300_000) }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state >>> 24
  })
}
