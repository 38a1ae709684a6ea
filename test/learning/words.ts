const WORDS =
  'the ship sails over a quiet sea while its crew counts barrels and mends ropes before the next port'.split(' ')

/** So many characters of plain words, other ones for each seed. */
export function words(seed: number, characters: number): string {
  let state = seed * 7_919 + 17
  let text = ''
  while (text.length < characters) {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff
    text += `${WORDS[state % WORDS.length]} `
  }
  return text.slice(0, characters)
}
