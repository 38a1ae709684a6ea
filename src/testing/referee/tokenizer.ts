/** The provider's own count, which the client under test never sees. */
export type HiddenTokenizer = (text: string) => number

export type ContentClass = 'prose' | 'code' | 'json' | 'log' | 'cjk' | 'encoded'

export interface HiddenTokenizerOptions {
  /** Changes each ratio by up to `spread`, the same way in every run. @default 1 */
  readonly seed?: number
  /** Characters per token, by kind of content. */
  readonly charsPerToken?: Partial<Record<ContentClass, number>>
  /** The most by which the seed changes a ratio. @default 0.1 */
  readonly spread?: number
  /** The most by which a single text differs from its class. @default 0.05 */
  readonly jitter?: number
}

// Measured on agent traffic against current Claude models; see docs/testing.md.
const CHARS_PER_TOKEN: Record<ContentClass, number> = {
  prose: 4.2,
  code: 2.9,
  json: 2.5,
  log: 2.6,
  cjk: 1.3,
  encoded: 1.9,
}

/** A tokenizer with one ratio per content class: cheap, linear, and different for every seed. */
export function createHiddenTokenizer(options: HiddenTokenizerOptions = {}): HiddenTokenizer {
  const { seed = 1, charsPerToken = {}, spread = 0.1, jitter = 0.05 } = options
  const ratios = { ...CHARS_PER_TOKEN, ...charsPerToken }
  const shifts = new Map<ContentClass, number>()
  for (const name of Object.keys(ratios) as ContentClass[]) shifts.set(name, 1 + spread * signedUnit(`${seed}:${name}`))
  return (text) => {
    if (text === '') return 0
    const name = classify(text)
    const noise = 1 + jitter * signedUnit(`${seed}:${text.length}:${text.slice(0, 64)}:${text.slice(-64)}`)
    return Math.max(1, Math.ceil((text.length / ratios[name]) * (shifts.get(name) ?? 1) * noise))
  }
}

/** A number between -1 and 1 from the text alone: FNV-1a with a final mix, so that similar texts get very different numbers. */
function signedUnit(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return ((hash ^ (hash >>> 13)) >>> 0) / 0x7fffffff - 1
}

// A history is sent again with every request; counting only new texts keeps long simulations fast.
const MEMO_ENTRIES = 50_000

export function memoise(count: HiddenTokenizer): HiddenTokenizer {
  const seen = new Map<string, number>()
  return (text) => {
    const known = seen.get(text)
    if (known !== undefined) return known
    if (seen.size >= MEMO_ENTRIES) seen.clear()
    const tokens = count(text)
    seen.set(text, tokens)
    return tokens
  }
}

// The kind is determined from samples of the head and the middle; reading all of a 50 MB text would not improve it.
const SAMPLE = 2_000

function classify(text: string): ContentClass {
  const middle = Math.floor(text.length / 2)
  const sample = text.length <= 2 * SAMPLE ? text : text.slice(0, SAMPLE) + text.slice(middle, middle + SAMPLE)
  const share = (pattern: RegExp): number => (sample.match(pattern)?.length ?? 0) / sample.length
  if (share(/[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/g) > 0.2) return 'cjk'
  const first = sample.trimStart()[0]
  if ((first === '{' || first === '[') && share(/[":,{}[\]]/g) > 0.1) return 'json'
  if (sample.length > 200 && share(/\s/g) < 0.01) return 'encoded'
  if (share(/[{}();=<>]/g) > 0.06) return 'code'
  if (share(/\d/g) > 0.15) return 'log'
  return 'prose'
}
