import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const SRC = resolve(import.meta.dirname, '../../src')

export interface Import {
  /** Path below `src`. */
  readonly file: string
  /** Nothing of it is left when the types are erased. */
  readonly typeOnly: boolean
}

/** The modules of `src` that a module imports, statically or on use. */
export type ImportGraph = ReadonlyMap<string, readonly Import[]>

export const sourceFiles = (): string[] =>
  readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))

export const sourceOf = (file: string): string => readFileSync(join(SRC, file), 'utf8')

const STATEMENT = /^(?:import|export)\s+(type\s+)?(?:(\{[^}]*\}|[^'"{}]*?)\s*from\s+)?'(\.[^']+)'/gms
const ON_USE = /\bimport\(\s*'(\.[^']+)'\s*\)/g

export function importGraph(): ImportGraph {
  return new Map(sourceFiles().map((file) => [file, importsOf(file)]))
}

function importsOf(file: string): Import[] {
  const text = sourceOf(file)
  const target = (path: string): string => relative(SRC, resolve(SRC, dirname(file), path))
  const imports = [...text.matchAll(STATEMENT)].map(([, type, names, path]): Import => ({
    file: target(path!),
    typeOnly: type !== undefined || isTypesOnly(names),
  }))
  // What is imported on use is there by then, whoever was loaded first; as a type it counts.
  for (const [, path] of text.matchAll(ON_USE)) imports.push({ file: target(path!), typeOnly: true })
  return imports.filter((one) => existsSync(join(SRC, one.file)))
}

/** `import { type A, type B }`: erased as a whole. */
const isTypesOnly = (names: string | undefined): boolean =>
  names?.startsWith('{') === true &&
  names
    .slice(1, -1)
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .every((name) => name.startsWith('type '))

/** Groups of modules that reach each other, each in a fixed order: Tarjan's strongly connected components. */
export function cycles(graph: ImportGraph, counts: (one: Import) => boolean): string[][] {
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const onStack = new Set<string>()
  const found: string[][] = []
  const visit = (file: string): void => {
    index.set(file, index.size)
    low.set(file, index.get(file)!)
    stack.push(file)
    onStack.add(file)
    for (const next of (graph.get(file) ?? []).filter(counts)) {
      if (!index.has(next.file)) {
        visit(next.file)
        low.set(file, Math.min(low.get(file)!, low.get(next.file)!))
      } else if (onStack.has(next.file)) low.set(file, Math.min(low.get(file)!, index.get(next.file)!))
    }
    if (low.get(file) !== index.get(file)) return
    const group = stack.splice(stack.indexOf(file))
    for (const one of group) onStack.delete(one)
    const isSelf = (graph.get(file) ?? []).some((one) => counts(one) && one.file === file)
    if (group.length > 1 || isSelf) found.push(group.sort())
  }
  for (const file of graph.keys()) if (!index.has(file)) visit(file)
  return found
}
