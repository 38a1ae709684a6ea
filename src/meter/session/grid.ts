/* The context grid: a prompt as 200 cells, each the same share of the window. Drawn by the page, the terminal and the picture; imports nothing. */

export const GRID_COLUMNS = 20
const GRID_CELLS = 200

export interface GridCell {
  /** A kind of content, `free` or `reserve`. */
  readonly kind: string
  /** The next compaction takes it out. */
  readonly isLeaving: boolean
}

export interface Grid {
  readonly cells: readonly GridCell[]
  /** The number of cells below the limit. */
  readonly limitAt: number
}

export interface GridPrompt {
  /** Tokens by kind of content, in drawing order. */
  readonly parts: readonly (readonly [kind: string, tokens: number])[]
  readonly limit: number
  readonly window: number
  /** The same after the next compaction. */
  readonly next?: ReadonlyMap<string, number>
}

/** Instructions first and the record before results: the order in which kinds are drawn and listed. */
const ORDER = ['instructions and tools', 'instructions', 'record', 'user', 'model', 'media']
export const byKind = (a: string, b: string): number => rankOf(a) - rankOf(b)
const rankOf = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length)

export function gridOf({ parts, limit, window, next }: GridPrompt): Grid {
  const used = parts.reduce((sum, [, tokens]) => sum + tokens, 0)
  const whole = Math.max(window, limit, used, 1)
  const place = (tokens: number): number => Math.round((tokens / whole) * GRID_CELLS)
  const cells: GridCell[] = []
  let tokens = 0
  for (const [kind, size] of parts) {
    const stays = next === undefined ? size : Math.min(size, next.get(kind) ?? 0)
    const [begin, middle, end] = [place(tokens), place(tokens + stays), place(tokens + size)]
    for (let at = begin; at < end; at++) cells.push({ kind, isLeaving: at >= middle })
    tokens += size
  }
  const limitAt = limit > 0 ? place(limit) : GRID_CELLS
  while (cells.length < GRID_CELLS) cells.push({ kind: cells.length < limitAt ? 'free' : 'reserve', isLeaving: false })
  return { cells: cells.slice(0, GRID_CELLS), limitAt }
}

/** The colour of a kind: the same in charts, grid, bars and the picture. Tools take the last ones in the order of what they took. */
export function colourOf(kind: string, tools: readonly string[]): string {
  if (kind === 'free' || kind === 'reserve') return kind
  if (kind === 'instructions and tools' || kind === 'instructions') return 'system'
  if (kind === 'user' || kind === 'model' || kind === 'record' || kind === 'media') return kind
  const at = tools.indexOf(kind)
  return at < 0 || at >= TOOL_COLOURS ? 'other' : `tool${at + 1}`
}

const TOOL_COLOURS = 5

/** The names of kinds for people. */
const NAMES: Readonly<Record<string, string>> = { user: 'user messages', model: 'model answers' }
export const kindText = (name: string): string => NAMES[name] ?? name.replace(/^results: (.*)$/, '$1 results')

/** Tools by what their results took in all prompts: their place decides their colour, wherever they are drawn. */
export const toolsOf = ({
  parts,
}: {
  readonly parts: Readonly<Record<string, readonly number[]>>
}): readonly string[] =>
  Object.entries(parts)
    .filter(([name]) => name.startsWith('results'))
    .map(([name, sizes]) => [name, sizes.reduce((sum, size) => sum + size, 0)] as const)
    .sort((a, b) => b[1] - a[1])
    .map(([name]) => name)
