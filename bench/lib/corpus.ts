import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { filesBelow, readLines, readText } from './shared.ts'

export const CORPUS_KINDS = ['prose', 'code', 'json', 'logs', 'tables', 'markup', 'cjk', 'scripts', 'base64'] as const
export type CorpusKind = (typeof CORPUS_KINDS)[number]

/** A stretch of real text with the kind of thing it is and the file it came from. */
export interface Piece {
  readonly kind: CorpusKind
  readonly source: string
  readonly heldOut: boolean
  readonly text: string
}

/** Characters per piece: from a short tool result to a long one. Cycled, so that each file gives all sizes. */
const SIZES = [600, 1500, 4000, 900, 8000, 2500]
const PIECES_PER_FILE = 48
const BLOCK = 24_000

/**
 * The shared data as pieces. A third is held out: whole files where a kind has several alike, else every third block of a file,
 * so that no fitted text is measured.
 */
export function loadCorpus(data: string): Piece[] {
  const texts = [...toolOutputs(join(data, 'tool-outputs')), ...sessionTexts(join(data, 'transcripts'))]
  const filesOf = new Map<string, number>()
  for (const { group } of texts) filesOf.set(group, (filesOf.get(group) ?? 0) + 1)
  return texts.flatMap(({ kind, source, group, text }) => {
    const many = filesOf.get(group)! >= 3
    const fileHeldOut = fraction(source) < 1 / 3
    return cut(text, kind === 'cjk' ? 0.35 : 1).map((piece) => ({
      kind,
      source,
      heldOut: many
        ? fileHeldOut
        : Math.floor(piece.at / BLOCK) % 3 === 2 || (text.length < BLOCK * 2 && piece.at > (text.length * 2) / 3),
      text: piece.text,
    }))
  })
}

interface Source {
  readonly kind: CorpusKind
  readonly group: string
  readonly source: string
  readonly text: string
}

function* toolOutputs(root: string): Generator<Source> {
  for (const path of filesBelow(root)) {
    const folder = path.split('/')[0]!
    const kind = kindOfFile(folder, path)
    if (kind === undefined) continue
    const raw = readText(join(root, path))
    yield {
      kind,
      group: folder === 'multilingual' ? path : folder + kind,
      source: path,
      text: folder === 'multilingual' ? paragraphs(path, raw) : raw,
    }
  }
  for (const row of readLines<{ kind: string; output: unknown; session: string }>(
    join(root, 'agent-tool-results/tool-results.jsonl.gz'),
  )) {
    const text = typeof row.output === 'string' ? row.output : JSON.stringify(row.output)
    if (text.length < 500) continue
    yield {
      kind: kindOfTool(row.kind),
      group: 'agent-tool-results',
      source: `agent-tool-results/${row.session}/${row.kind}`,
      text,
    }
  }
  // Packed files as base64 stand for images, archives and keys that tools print.
  for (const path of filesBelow(root)
    .filter((name) => name.endsWith('.gz'))
    .slice(0, 12)) {
    const text = Buffer.from(readText(join(root, path)), 'utf8').subarray(0, 4000)
    const digest = createHash('sha512').update(text)
    let bytes = Buffer.alloc(0)
    while (bytes.length < 20_000) bytes = Buffer.concat([bytes, digest.copy().update(bytes).digest()])
    yield { kind: 'base64', group: 'base64', source: `base64:${path}`, text: bytes.toString('base64') }
  }
}

function* sessionTexts(root: string): Generator<Source> {
  for (const path of filesBelow(join(root, 'claude-code'))) {
    const prose: string[] = []
    const code: string[] = []
    for (const row of readLines<SessionRow>(join(root, 'claude-code', path))) {
      for (const block of blocksOf(row)) {
        if (block.type === 'text' && row.type === 'assistant') prose.push(block.text ?? '')
        if (block.type === 'thinking') prose.push(block.thinking ?? '')
        if (block.type === 'tool_result' && typeof block.content === 'string' && /^\s+1→/.test(block.content))
          code.push(block.content)
      }
    }
    yield { kind: 'prose', group: 'claude-prose', source: `claude-code/${path}#prose`, text: prose.join('\n\n') }
    yield {
      kind: 'code',
      group: 'claude-code',
      source: `claude-code/${path}#code`,
      text: code.join('\n').replaceAll(/^ *\d+→/gm, ''),
    }
    yield {
      kind: 'code',
      group: 'claude-read',
      source: `claude-code/${path}#read`,
      text: code.join('\n').slice(0, 60_000),
    }
  }
  for (const path of filesBelow(join(root, 'openai-chat')).filter((name) => !name.endsWith('.yaml'))) {
    yield {
      kind: 'json',
      group: 'openai-chat',
      source: `openai-chat/${path}`,
      text: readText(join(root, 'openai-chat', path)),
    }
  }
}

interface Block {
  readonly type: string
  readonly text?: string
  readonly thinking?: string
  readonly content?: unknown
}

interface SessionRow {
  readonly type: string
  readonly message?: { readonly content?: unknown }
}

const blocksOf = (row: SessionRow): Block[] =>
  Array.isArray(row.message?.content) ? (row.message.content as Block[]) : []

function kindOfFile(folder: string, path: string): CorpusKind | undefined {
  if (folder === 'licences' || folder === 'agent-tool-results' || folder === 'holmes-questions' || path === 'README.md')
    return undefined
  if (folder === 'multilingual')
    return /xquad-(ar|de|hi|ru)/.test(path) ? 'scripts' : path.includes('xquad-en') ? 'prose' : 'cjk'
  if (folder === 'diffs') return 'code'
  if (folder === 'html' || /\.xml(\.gz)?$/.test(path)) return 'markup'
  if (folder === 'csv' || /\.csv(\.gz)?$/.test(path)) return 'tables'
  if (/\.json(\.gz)?$/.test(path)) return 'json'
  if (folder === 'logs' || folder === 'loghub' || /\.log(\.gz)?$/.test(path)) return 'logs'
  return 'tables'
}

function kindOfTool(tool: string): CorpusKind {
  if (/Task|WebSearch|WebFetch|Plan/.test(tool)) return 'prose'
  if (/test|build|package-manager|lint/.test(tool)) return 'logs'
  if (/gh-cli/.test(tool)) return 'json'
  if (/ls|Glob/.test(tool)) return 'tables'
  return 'code'
}

/** XQuAD holds questions inside JSON; what is wanted here is the running text. */
function paragraphs(path: string, raw: string): string {
  if (!path.includes('xquad')) return raw
  const parsed = JSON.parse(raw) as { data: { paragraphs: { context: string; qas: { question: string }[] }[] }[] }
  return parsed.data
    .flatMap(({ paragraphs }) =>
      paragraphs.flatMap(({ context, qas }) => [context, ...qas.map(({ question }) => question)]),
    )
    .join('\n')
}

/** Han characters hold two to three times as much as letters; `scale` keeps the pieces alike in tokens. */
function cut(text: string, scale: number): { at: number; text: string }[] {
  const pieces: { at: number; text: string }[] = []
  const total = (SIZES.reduce((sum, size) => sum + size, 0) / SIZES.length) * scale
  const stride = Math.max(1, Math.floor(text.length / total / PIECES_PER_FILE))
  let at = 0
  for (let index = 0; at < text.length; index++) {
    const size = SIZES[index % SIZES.length]! * scale
    const line = text.indexOf('\n', at + size)
    const end = line === -1 || line > at + size * 1.5 ? Math.min(text.length, at + size) : line + 1
    if (index % stride === 0 && end - at >= 300 * scale)
      pieces.push({ at, text: Buffer.from(text.slice(at, end)).toString() })
    at = end
  }
  return pieces
}

function fraction(name: string): number {
  return createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32
}
