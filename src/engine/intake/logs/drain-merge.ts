import { isWildcard, isWord, WILDCARD } from './log-tokens.ts'

/** Second step of mining: which shapes of messages are one template. */

/** Joins the tokens of a shape to its key; no message holds it. */
export const SEPARATOR = '\u0001'

/** Words that stood in one place, with their counts. */
export type Variants = readonly (readonly [string, number])[]

export interface Shape {
  id: number
  tokens: string[]
  count: number
  first: number
  last: number
  example: string
  variants?: Variants | undefined
}

export interface Cluster {
  shape: Shape
  /** Keys of the shapes inside. */
  members: string[]
}

export function absorb(into: Shape, from: Shape): void {
  into.variants = undefined
  if (from.first < into.first) {
    into.first = from.first
    into.example = from.example
  }
  into.count += from.count
  into.last = Math.max(into.last, from.last)
  into.id = Math.min(into.id, from.id)
}

/** Shapes that differ in one column only become one when that column holds many words. Repeats, since columns open one by one. */
export function mergeColumns(shapes: readonly Shape[], variety: number): Cluster[] {
  let clusters: Cluster[] = shapes.map((shape) => ({ shape, members: [shape.tokens.join(SEPARATOR)] }))
  for (let round = 0; round < 4; round++) {
    const columns = new Map<string, Cluster[]>()
    for (const cluster of clusters) {
      const { tokens } = cluster.shape
      for (let i = 0; i < tokens.length; i++) {
        if (!isConstant(tokens[i]!) || !tokens.some((token, j) => j !== i && isConstant(token))) continue
        const key = keyWithout(tokens, i)
        const list = columns.get(key)
        if (list === undefined) columns.set(key, [cluster])
        else list.push(cluster)
      }
    }
    const taken = new Set<Cluster>()
    const out: Cluster[] = []
    const wide = [...columns].filter(([, list]) => list.length >= variety).sort((a, b) => b[1].length - a[1].length)
    for (const [key, list] of wide) {
      const free = list.filter((cluster) => !taken.has(cluster))
      if (free.length < variety) continue
      out.push(join(free, key.split(SEPARATOR)))
      for (const cluster of free) taken.add(cluster)
    }
    if (out.length === 0) break
    clusters = coalesce([...out, ...clusters.filter((cluster) => !taken.has(cluster))])
  }
  return clusters
}

/** Clusters that became the same template are one: counted twice, three words would look like six. */
function coalesce(clusters: readonly Cluster[]): Cluster[] {
  const byKey = new Map<string, Cluster>()
  for (const cluster of clusters) {
    const key = cluster.shape.tokens.join(SEPARATOR)
    const known = byKey.get(key)
    if (known === undefined) byKey.set(key, cluster)
    else {
      const { variants } = known.shape
      absorb(known.shape, cluster.shape)
      known.shape.variants = mergeVariants(variants, cluster)
      known.members.push(...cluster.members)
    }
  }
  return [...byKey.values()]
}

/** A member that was open in this column from the start is a word of its own kind. */
const mergeVariants = (variants: Variants | undefined, { shape }: Cluster): Variants | undefined =>
  variants === undefined || shape.variants !== undefined ? undefined : [...variants, [WILDCARD, shape.count]]

const isConstant = (token: string): boolean => !isWildcard(token) && isWord(token)
/** The same place, open. */
const opened = (token: string): string => (token.startsWith(' ') ? ` ${WILDCARD}` : WILDCARD)

const keyWithout = (tokens: readonly string[], index: number): string =>
  tokens.with(index, opened(tokens[index]!)).join(SEPARATOR)

function join(clusters: readonly Cluster[], tokens: string[]): Cluster {
  const shape: Shape = { ...clusters[0]!.shape, tokens }
  for (const other of clusters.slice(1)) absorb(shape, other.shape)
  if (clusters.length <= MAX_VARIANTS) shape.variants = variantsOf(clusters, tokens)
  return { shape, members: clusters.flatMap((cluster) => cluster.members) }
}

const MAX_VARIANTS = 12

/** The words that stood where the joined template is open, most frequent first. */
function variantsOf(clusters: readonly Cluster[], tokens: readonly string[]): Variants | undefined {
  const { tokens: first } = clusters[0]!.shape
  const column = tokens.findIndex((token, i) => isWildcard(token) && !isWildcard(first[i]!))
  if (column < 0) return undefined
  return clusters.map(({ shape }) => [shape.tokens[column]!.trim(), shape.count] as const).sort((a, b) => b[1] - a[1])
}

/** A frequent shape is a template already; a rare one beside it is more likely another event than a member. */
const RARE_TARGET = 10

/** Shapes seen once or twice with several columns open at a time: joined to a similar one of the same length and start. */
export function mergeRare(clusters: readonly Cluster[], similarity: number): Cluster[] {
  const leaves = new Map<string, Cluster[]>()
  const out: Cluster[] = []
  for (const cluster of clusters.toSorted((a, b) => b.shape.count - a.shape.count || a.shape.id - b.shape.id)) {
    const { tokens } = cluster.shape
    const leafKey = `${tokens.length}${SEPARATOR}${tokens[0] ?? ''}`
    let leaf = leaves.get(leafKey)
    if (leaf === undefined) leaves.set(leafKey, (leaf = []))
    const target = cluster.shape.count <= 2 ? mostSimilar(leaf, tokens, similarity) : undefined
    if (target === undefined) {
      const kept = { shape: { ...cluster.shape, tokens: [...tokens] }, members: [...cluster.members] }
      // A leaf is searched linearly, so it may not grow without end.
      if (leaf.length < 200) leaf.push(kept)
      out.push(kept)
      continue
    }
    generalise(target.shape.tokens, tokens)
    absorb(target.shape, cluster.shape)
    target.members.push(...cluster.members)
  }
  return out
}

function mostSimilar(leaf: readonly Cluster[], tokens: readonly string[], threshold: number): Cluster | undefined {
  let best: Cluster | undefined
  let bestShare = threshold
  for (const cluster of leaf) {
    if (cluster.shape.count > RARE_TARGET) continue
    const share = shareOfEqual(cluster.shape.tokens, tokens)
    if (share >= bestShare) {
      bestShare = share
      best = cluster
    }
  }
  return best
}

function shareOfEqual(a: readonly string[], b: readonly string[]): number {
  let equal = 0
  for (let i = 0; i < a.length; i++) if (a[i] === b[i]) equal++
  return a.length === 0 ? 1 : equal / a.length
}

function generalise(template: string[], tokens: readonly string[]): void {
  for (let i = 0; i < template.length; i++) if (template[i] !== tokens[i]) template[i] = opened(template[i]!)
}
