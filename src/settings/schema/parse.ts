import { isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml'
import type { ConfigProblem, Located, LocatedEntry } from './validate.ts'

export interface Parsed {
  readonly root?: Located
  readonly problems: readonly ConfigProblem[]
}

/** Reads YAML, and JSON as the part of YAML that it is, with the line of every key and value. */
export function parseText(text: string, file: string): Parsed {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, merge: true, uniqueKeys: true })
  if (document.errors.length > 0) {
    return {
      problems: document.errors.map((error) => ({
        file,
        line: lines.linePos(error.pos[0]).line,
        path: '',
        message: error.message.split('\n')[0]!.replace(/ at line \d+.*$/, '.'),
      })),
    }
  }
  const lineOf = (node: unknown): number | undefined => {
    const range = (node as Partial<Node> | null | undefined)?.range
    return range === undefined || range === null ? undefined : lines.linePos(range[0]).line
  }
  const locate = (node: unknown): Located => {
    if (isMap(node)) {
      const entries = new Map<string, LocatedEntry>()
      for (const pair of node.items) {
        if (isPair(pair)) entries.set(keyText(pair.key), { line: lineOf(pair.key), value: locate(pair.value) })
      }
      return { value: entries, line: lineOf(node) }
    }
    if (isSeq(node)) return { value: node.items.map(locate), line: lineOf(node) }
    return { value: isScalar(node) ? plain(node.value) : null, line: lineOf(node) }
  }
  return { root: document.contents === null ? { value: new Map(), line: 1 } : locate(document.contents), problems: [] }
}

const keyText = (key: unknown): string => String(isScalar(key) ? key.value : key)

function plain(value: unknown): string | number | boolean | null {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
}

/** A value that a module exported, with the line where its text first names the key. */
export function locateValue(value: unknown, source: string): Located {
  const lines = source.split('\n')
  const lineOf = (key: string): number | undefined => {
    const at = lines.findIndex((line) => new RegExp(`(^|[\\s{,'"])${escape(key)}['"]?\\s*:`).test(line))
    return at < 0 ? undefined : at + 1
  }
  const locate = (part: unknown, line: number | undefined): Located => {
    if (Array.isArray(part)) return { value: part.map((item) => locate(item, line)), line }
    if (typeof part === 'object' && part !== null) {
      const entries = Object.entries(part).map(
        ([key, inner]) => [key, { line: lineOf(key), value: locate(inner, lineOf(key)) }] as const,
      )
      return { value: new Map(entries), line }
    }
    return { value: plain(part), line }
  }
  return locate(value, 1)
}

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
