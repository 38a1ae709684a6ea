import type { Item } from '../../../core/item.ts'

/** Lines at either end of a result that may be what its tool prints every time. */
const EDGE = 8
/** A tool has to print a line this often, in this share of its results, to be known for it. */
const LEAST = 5
const SHARE = 0.3
/** What we or a client put where something was left out or stands behind a handle. */
const OWN_MARK =
  /^\s*(?:…|\.\.\.|\[[^\]]*\b(?:omitted|left out|truncated|taken out of view|more lines|stored as)\b[^\]]*\]|.*\bart_[a-z0-9]{20,}\b.*)\s*$/

/** Finds lines that are no content: marks of earlier cuts, and what a tool prints around every result (ids, times, headings, reminders). */
export function noiseIn(items: readonly Item[]): (line: string) => boolean {
  const results = new Map<string, number>()
  const edges = new Map<string, number>()
  for (const item of items) {
    if (item.kind !== 'result') continue
    const tool = item.toolName ?? ''
    results.set(tool, (results.get(tool) ?? 0) + 1)
    for (const shape of new Set(edgeLines(item.text).map(shapeOf))) {
      if (shape.length < 6) continue
      const key = `${tool}\n${shape}`
      edges.set(key, (edges.get(key) ?? 0) + 1)
    }
  }
  const printed = new Set<string>()
  for (const [key, times] of edges) {
    const at = key.indexOf('\n')
    if (times >= LEAST && times >= SHARE * results.get(key.slice(0, at))!) printed.add(key.slice(at + 1))
  }
  return (line) => OWN_MARK.test(line) || printed.has(shapeOf(line))
}

function edgeLines(text: string): string[] {
  const lines = text.slice(0, 2_000).split('\n').slice(0, EDGE)
  return text.length <= 2_000
    ? [...lines, ...text.split('\n').slice(-EDGE)]
    : [...lines, ...text.slice(-2_000).split('\n').slice(-EDGE)]
}

/** Ids, counts and times differ from result to result. */
const shapeOf = (line: string): string =>
  line
    .slice(0, 200)
    .trim()
    .replace(/\b[0-9a-f]*\d[0-9a-f.]*\b/gi, '#')
