/** A `.cpuprofile` of V8 as tables: who used the processor, by function and by room of the project. */

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: readonly number[]
}

export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  /** Microseconds. */
  readonly timeDeltas: readonly number[]
}

export interface Share {
  readonly name: string
  /** Milliseconds in it alone, and with all that it called. */
  readonly selfMs: number
  readonly totalMs: number
}

export interface ProfileSummary {
  /** Milliseconds in which the thread did something. */
  readonly busyMs: number
  readonly functions: readonly Share[]
  readonly rooms: readonly Share[]
  /** `a;b;c microseconds`: what flame graph tools read. */
  readonly folded: readonly string[]
}

const IDLE = new Set(['(idle)', '(program)', '(root)'])

export function summarise({ nodes, samples, timeDeltas }: CpuProfile): ProfileSummary {
  const selfUs = new Map<number, number>()
  for (const [i, id] of samples.entries()) selfUs.set(id, (selfUs.get(id) ?? 0) + (timeDeltas[i] ?? 0))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const functions = new Map<string, { self: number; total: number }>()
  const rooms = new Map<string, { self: number; total: number }>()
  const folded = new Map<string, number>()
  let busy = 0
  for (const node of nodes) {
    const self = selfUs.get(node.id) ?? 0
    if (self === 0 || IDLE.has(node.callFrame.functionName)) continue
    busy += self
    const stack: ProfileNode[] = []
    for (let at: number | undefined = node.id; at !== undefined; at = parents.get(at)) stack.push(byId.get(at)!)
    addTo(functions, stack.map(nameOf), self)
    addTo(rooms, stack.map(roomOf), self)
    const path = stack
      .filter(({ callFrame }) => callFrame.functionName !== '(root)')
      .map(nameOf)
      .reverse()
      .join(';')
    folded.set(path, (folded.get(path) ?? 0) + self)
  }
  return {
    busyMs: busy / 1000,
    functions: sharesOf(functions),
    rooms: sharesOf(rooms),
    folded: [...folded].map(([path, us]) => `${path} ${us}`),
  }
}

/** The first name is the one that ran; a name that calls itself counts once. */
function addTo(sums: Map<string, { self: number; total: number }>, names: readonly string[], us: number): void {
  for (const name of new Set(names)) {
    const sum = sums.get(name) ?? { self: 0, total: 0 }
    sum.total += us
    if (name === names[0]) sum.self += us
    sums.set(name, sum)
  }
}

const sharesOf = (sums: ReadonlyMap<string, { self: number; total: number }>): Share[] =>
  [...sums]
    .map(([name, { self, total }]) => ({ name, selfMs: self / 1000, totalMs: total / 1000 }))
    .sort((a, b) => b.selfMs - a.selfMs)

const fileOf = ({ callFrame: { url } }: ProfileNode): string =>
  url
    .replace(/^file:\/\//, '')
    .replace(/^.*\/(dist|src)\//, '')
    .replace(/^.*\/node_modules\//, 'npm:')

const nameOf = (node: ProfileNode): string => {
  const { functionName, lineNumber, url } = node.callFrame
  return url === ''
    ? functionName || '(anonymous)'
    : `${functionName || '(anonymous)'} ${fileOf(node)}:${lineNumber + 1}`
}

/** Two folders deep: `engine/prepare`, `formats/json`, `npm:undici`, `node:internal`. */
const roomOf = (node: ProfileNode): string => {
  const { url, functionName } = node.callFrame
  if (url === '') return functionName.startsWith('(') ? functionName : 'native'
  return fileOf(node)
    .split('/')
    .slice(0, url.includes('/node_modules/') || url.startsWith('node:') ? 1 : 2)
    .join('/')
}
