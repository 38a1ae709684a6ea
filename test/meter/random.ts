/** A small seeded generator (mulberry32), so that a failing case can be run again. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let value = Math.imul(state ^ (state >>> 15), state | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) % below
  }
}

/** Strings that trip tokenizers: marks, odd white space, lone surrogates, title case, special tokens as plain text. */
const AWKWARD = [
  'a',
  'B',
  'ſ',
  "'s",
  "'LL",
  ' ',
  '  ',
  '\n',
  '\r\n',
  '\t',
  '\ufeff',
  '\u0085',
  '\u3000',
  '的',
  'あ',
  '한',
  '😀',
  '\ud800',
  'é',
  '\u0301',
  'ǅ',
  'ʰ',
  '12',
  '٣',
  '<|endoftext|>',
  '--',
  '/',
  "don't",
  'HTTPServer',
  '\u00a0',
  'हि',
  'Ⅷ',
  '{"a":1}',
  'foo_bar',
  '=>',
]

export function awkwardText(random: (below: number) => number, parts: number): string {
  let text = ''
  for (let i = random(parts) + 1; i > 0; i--) text += AWKWARD[random(AWKWARD.length)]!
  return text
}
