/** One name for each file, of the names that calls gave it. */
export type FileNames = (path: string) => string

/**
 * Calls name one file by its whole path and by the part of it below the folder they run in, which no request tells. Where a relative path of at
 * least two parts ends exactly one whole path, what stands before it there is such a folder; a file name alone is only looked up in those.
 */
export function fileNames(paths: Iterable<string>): FileNames {
  /** As the calls wrote them. */
  const written = new Map<string, string>()
  for (const path of paths) written.set(tidy(path), path)
  const all = new Set(written.keys())
  const whole = [...all].filter(isWhole)
  const byEnding = endingsOf(whole)
  const folders = new Set<string>()
  const known = new Map<string, string>()
  for (const path of all) {
    if (isWhole(path) || !path.includes('/')) continue
    const found = byEnding.get(path)
    if (found === undefined || found === AMBIGUOUS) continue
    known.set(path, found)
    folders.add(found.slice(0, -path.length))
  }
  for (const path of all) {
    if (isWhole(path) || known.has(path)) continue
    const found = [...folders].map((folder) => folder + path).filter((name) => all.has(name))
    if (found.length === 1) known.set(path, found[0]!)
  }
  return (path) => {
    const name = known.get(tidy(path)) ?? tidy(path)
    return written.get(name) ?? name
  }
}

const AMBIGUOUS = ''

const isWhole = (path: string): boolean => /^(?:[/~]|[A-Za-z]:\/)/.test(path)

const tidy = (path: string): string => path.replaceAll('\\', '/').replace(/^(?:\.\/)+/, '')

/** Whole paths by each of their endings of two parts and more; those that two of them share say nothing. */
function endingsOf(whole: readonly string[]): ReadonlyMap<string, string> {
  const endings = new Map<string, string>()
  for (const path of whole) {
    const parts = path.split('/')
    for (let from = Math.max(1, parts.length - MOST_PARTS); from < parts.length - 1; from++) {
      const ending = parts.slice(from).join('/')
      endings.set(ending, endings.has(ending) ? AMBIGUOUS : path)
    }
  }
  return endings
}

/** Deeper relative paths are taken for files of their own: paths come from outside, and may be of any length. */
const MOST_PARTS = 32
