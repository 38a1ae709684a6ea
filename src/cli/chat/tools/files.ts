import { mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { lineMatcher } from '../../../engine/readers/grep/line-matcher.ts'
import { isInside } from './inside.ts'
import { numberField, parametersOf, stringField, type Fields, type Tool, type ToolContext } from './tool.ts'

const MAX_FILE_BYTES = 20 * 2 ** 20
const MAX_LISTED = 2_000
const MAX_MATCHES = 500
const MAX_SEARCHED_BYTES = 2 * 2 ** 20
const NOT_OURS = new Set(['.git', 'node_modules', 'dist', '.venv', '__pycache__'])

const pathOf = (input: Fields): string => (typeof input['path'] === 'string' ? input['path'] : '.')
const riskOfReading = async (input: Fields, { cwd }: ToolContext): Promise<'none' | 'shell'> =>
  (await isInside(cwd, pathOf(input))) ? 'none' : 'shell'

export const readFileTool: Tool = {
  name: 'read_file',
  description: 'Reads a text file, whole or some of its lines.',
  parameters: parametersOf(
    {
      path: { type: 'string', description: 'Path, relative to the working folder' },
      start: { type: 'integer', description: 'First line, from 1' },
      lines: { type: 'integer', description: 'How many lines' },
    },
    ['path'],
  ),
  risk: riskOfReading,
  describe: (input) => pathOf(input),
  async run(input, { cwd }) {
    const path = resolve(cwd, stringField(input, 'path'))
    const { size } = await stat(path)
    if (size > MAX_FILE_BYTES)
      throw new Error(`The file has ${size} bytes; ${MAX_FILE_BYTES} is the most. Use search_files or run_shell.`)
    const text = await readFile(path, 'utf8')
    if (input['start'] === undefined && input['lines'] === undefined) return text
    const start = Math.max(1, numberField(input, 'start', 1))
    return text
      .split('\n')
      .slice(start - 1, start - 1 + numberField(input, 'lines', Infinity))
      .join('\n')
  },
}

export const listFilesTool: Tool = {
  name: 'list_files',
  description: 'Lists files below a folder. Leaves out .git, node_modules and the like.',
  parameters: parametersOf(
    {
      path: { type: 'string', description: 'Folder, relative to the working folder' },
      depth: { type: 'integer', description: 'How many folders deep; 3 if not given' },
    },
    [],
  ),
  risk: riskOfReading,
  describe: (input) => pathOf(input),
  async run(input, { cwd }) {
    const root = resolve(cwd, pathOf(input))
    const found: string[] = []
    for await (const path of filesBelow(root, numberField(input, 'depth', 3))) {
      found.push(relative(root, path))
      if (found.length >= MAX_LISTED) return `${found.join('\n')}\n[more than ${MAX_LISTED}; name a folder inside]`
    }
    return found.length === 0 ? 'There are no files.' : found.join('\n')
  },
}

export const searchFilesTool: Tool = {
  name: 'search_files',
  description: 'Finds lines in files below a folder by a regular expression (RE2 syntax).',
  parameters: parametersOf(
    {
      pattern: { type: 'string', description: 'The expression' },
      path: { type: 'string', description: 'Folder or file, relative to the working folder' },
      ignoreCase: { type: 'boolean', description: 'Ignore upper and lower case' },
    },
    ['pattern'],
  ),
  risk: riskOfReading,
  describe: (input) => `${String(input['pattern'])} in ${pathOf(input)}`,
  async run(input, { cwd, signal }) {
    const matcher = lineMatcher(stringField(input, 'pattern'), { ignoreCase: input['ignoreCase'] === true })
    const root = resolve(cwd, pathOf(input))
    const single = !(await stat(root)).isDirectory()
    const found: string[] = []
    for await (const path of single ? [root] : filesBelow(root, Infinity)) {
      signal.throwIfAborted()
      const text = await textOf(path)
      if (text === undefined) continue
      for (const [index, line] of text.split('\n').entries()) {
        if (!matcher.test(line)) continue
        found.push(`${relative(cwd, path)}:${index + 1}: ${line.slice(0, 400)}`)
        if (found.length >= MAX_MATCHES) return `${found.join('\n')}\n[more than ${MAX_MATCHES}; narrow the search]`
      }
    }
    return found.length === 0 ? 'Nothing matches.' : found.join('\n')
  },
}

export const editFileTool: Tool = {
  name: 'edit_file',
  description: 'Replaces a text that occurs exactly once in a file. With an empty old text it creates a new file.',
  parameters: parametersOf(
    {
      path: { type: 'string', description: 'Path, relative to the working folder' },
      old: { type: 'string', description: 'The text to replace, exactly; empty for a new file' },
      new: { type: 'string', description: 'The text to put in its place' },
    },
    ['path', 'old', 'new'],
  ),
  risk: async (input, { cwd }) => ((await isInside(cwd, pathOf(input))) ? 'edit' : 'shell'),
  describe: (input) => pathOf(input),
  async run(input, { cwd }) {
    const path = resolve(cwd, stringField(input, 'path'))
    const before = stringField(input, 'old')
    const after = stringField(input, 'new')
    if (before === '') {
      await mkdir(dirname(path), { recursive: true })
      // `wx`: an existing file is never written over by a wish to create one.
      await writeFile(path, after, { flag: 'wx' })
      return `Created ${relative(cwd, path)} with ${after.split('\n').length} lines.`
    }
    const text = await readFile(path, 'utf8')
    const at = text.indexOf(before)
    if (at < 0) throw new Error('The old text does not occur in the file. Read it again.')
    if (text.indexOf(before, at + 1) >= 0)
      throw new Error('The old text occurs more than once. Include more of the lines around it.')
    await writeFile(path, text.slice(0, at) + after + text.slice(at + before.length))
    return `Edited ${relative(cwd, path)} at line ${text.slice(0, at).split('\n').length}.`
  },
}

async function* filesBelow(folder: string, depth: number): AsyncGenerator<string, void, undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  for (const entry of entries.toSorted((a, b) => a.name.localeCompare(b.name))) {
    const path = join(folder, entry.name)
    if (entry.isFile()) yield path
    else if (entry.isDirectory() && depth > 1 && !NOT_OURS.has(entry.name)) yield* filesBelow(path, depth - 1)
  }
}

/** Undefined for what is too large or not text. */
async function textOf(path: string): Promise<string | undefined> {
  const file = await open(path).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const { size } = await file.stat()
    if (size > MAX_SEARCHED_BYTES) return undefined
    const text = await file.readFile('utf8')
    return text.includes('\0') ? undefined : text
  } finally {
    await file.close()
  }
}
