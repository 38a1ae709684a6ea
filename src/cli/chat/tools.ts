import { messageOf } from '../../core/values.ts'
import { realpath, mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, isAbsolute } from 'node:path'
import { spawn } from 'node:child_process'
import type { ToolDeclared } from '../../formats/wire/chat.ts'
import { flagField, numberField, optional, textField, toolInput, type ToolInput } from '../../engine/readers/tools.ts'
import { lineMatcher } from '../../engine/readers/line-matcher.ts'
import type { RunTool } from './chat.ts'

/** What a tool call may change. `edit` and `shell` need the user's permission. */
type Risk = 'none' | 'edit' | 'shell'

interface ToolContext {
  readonly cwd: string
  readonly signal: AbortSignal
}

interface Tool extends ToolDeclared, ToolInput {
  /** The risk of this call: reading outside the working folder is riskier than reading inside it. */
  risk(input: Fields, context: ToolContext): Promise<Risk>
  /** One line that describes the call to the user. */
  describe(input: Fields): string
  /** @throws with a message that the model can act on. */
  run(input: Fields, context: ToolContext): Promise<string>
}

/** Arguments of the tools. `check` has verified that required fields exist and have the right type. */
interface Fields {
  readonly path?: string
  readonly start?: number
  readonly lines?: number
  readonly depth?: number
  readonly pattern?: string
  readonly ignoreCase?: boolean
  readonly old?: string
  readonly new?: string
  readonly command?: string
  readonly timeoutSeconds?: number
}

function declared(name: string, description: string, fields: Parameters<typeof toolInput>[1]) {
  const input = toolInput(name, fields)
  return { name, description, parameters: input.inputSchema, ...input }
}

/** The path with symbolic links resolved; for a path that does not exist yet, those of its nearest existing folder. */
async function realPath(cwd: string, path: string): Promise<string> {
  const wanted = resolve(cwd, path)
  try {
    return await realpath(wanted)
  } catch {
    const parent = dirname(wanted)
    return parent === wanted ? wanted : join(await realPath(cwd, parent), basename(wanted))
  }
}

/** Whether a path is inside the working folder, after symbolic links are resolved. */
async function isInside(cwd: string, path: string): Promise<boolean> {
  const way = relative(await realpath(cwd), await realPath(cwd, path))
  return way === '' || (!way.startsWith('..') && !isAbsolute(way))
}

const MAX_FILE_BYTES = 20 * 2 ** 20
const MAX_LISTED = 2_000
const MAX_MATCHES = 500
const MAX_SEARCHED_BYTES = 2 * 2 ** 20
const SKIPPED_FOLDERS = new Set(['.git', 'node_modules', 'dist', '.venv', '__pycache__'])

const pathOf = ({ path = '.' }: Fields): string => path
const riskOfReading = async (input: Fields, { cwd }: ToolContext): Promise<'none' | 'shell'> =>
  (await isInside(cwd, pathOf(input))) ? 'none' : 'shell'

const readFileTool: Tool = {
  ...declared('read_file', 'Reads a text file, whole or some of its lines.', {
    path: textField('Path, relative to the working folder'),
    start: optional(numberField('First line, from 1')),
    lines: optional(numberField('How many lines')),
  }),
  risk: riskOfReading,
  describe: (input) => pathOf(input),
  async run({ path: given, start, lines = Infinity }, { cwd }) {
    const path = resolve(cwd, given ?? '')
    const { size } = await stat(path)
    if (size > MAX_FILE_BYTES)
      throw new Error(`The file has ${size} bytes; ${MAX_FILE_BYTES} is the most. Use search_files or run_shell.`)
    const text = await readFile(path, 'utf8')
    const first = Math.max(0, (start ?? 1) - 1)
    return text
      .split('\n')
      .slice(first, first + lines)
      .join('\n')
  },
}

const listFilesTool: Tool = {
  ...declared('list_files', 'Lists files below a folder. Leaves out .git, node_modules and the like.', {
    path: optional(textField('Folder, relative to the working folder')),
    depth: optional(numberField('How many folders deep; 3 if not given')),
  }),
  risk: riskOfReading,
  describe: (input) => pathOf(input),
  async run(input, { cwd }) {
    const root = resolve(cwd, pathOf(input))
    const found: string[] = []
    for await (const path of filesBelow(root, input.depth ?? 3)) {
      found.push(relative(root, path))
      if (found.length >= MAX_LISTED) return `${found.join('\n')}\n[more than ${MAX_LISTED}; name a folder inside]`
    }
    return found.length === 0 ? 'There are no files.' : found.join('\n')
  },
}

const searchFilesTool: Tool = {
  ...declared('search_files', 'Finds lines in files below a folder by a regular expression (RE2 syntax).', {
    pattern: textField('The expression'),
    path: optional(textField('Folder or file, relative to the working folder')),
    ignoreCase: optional(flagField('Ignore upper and lower case')),
  }),
  risk: riskOfReading,
  describe: (input) => `${input.pattern} in ${pathOf(input)}`,
  async run(input, { cwd, signal }) {
    const matcher = lineMatcher(input.pattern ?? '', { ignoreCase: input.ignoreCase === true })
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

const editFileTool: Tool = {
  ...declared(
    'edit_file',
    'Replaces a text that occurs exactly once in a file. With an empty old text it creates a new file.',
    {
      path: textField('Path, relative to the working folder'),
      old: textField('The text to replace, exactly; empty for a new file'),
      new: textField('The text to put in its place'),
    },
  ),
  risk: async (input, { cwd }) => ((await isInside(cwd, pathOf(input))) ? 'edit' : 'shell'),
  describe: (input) => pathOf(input),
  async run({ path: given, old: before = '', new: after = '' }, { cwd }) {
    const path = resolve(cwd, given ?? '')
    if (before === '') {
      await mkdir(dirname(path), { recursive: true })
      // `wx`: creating a file never overwrites an existing one.
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
    else if (entry.isDirectory() && depth > 1 && !SKIPPED_FOLDERS.has(entry.name)) yield* filesBelow(path, depth - 1)
  }
}

/** Undefined for files that are too large or not text. */
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

interface ProcessOptions extends ToolContext {
  readonly timeoutMs: number
}

const MAX_OUTPUT_BYTES = 16 * 2 ** 20

/** Runs a program and returns its output and exit status. Cancelling also kills its child processes. */
function runProcess(file: string, args: readonly string[], options: ProcessOptions): Promise<string> {
  const { cwd, signal, timeoutMs } = options
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: process.platform !== 'win32' })
    const chunks: Buffer[] = []
    let size = 0
    const take = (chunk: Buffer): void => {
      if (size < MAX_OUTPUT_BYTES) chunks.push(chunk)
      size += chunk.length
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    let ended = ''
    const stop = (why: string): void => {
      ended = why
      try {
        // Kills the process group, because a shell's children would keep running.
        if (child.pid !== undefined) process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL')
      } catch {
        child.kill('SIGKILL')
      }
    }
    const timer = setTimeout(() => stop(`stopped after ${timeoutMs / 1000} s`), timeoutMs)
    const onAbort = (): void => stop('stopped by the user')
    signal.addEventListener('abort', onAbort, { once: true })
    const finish = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    child.once('error', (error) => {
      finish()
      reject(new Error(`${file} cannot be run: ${error.message}`))
    })
    child.once('close', (code, killedBy) => {
      finish()
      const output = Buffer.concat(chunks).toString('utf8')
      const cut = size > MAX_OUTPUT_BYTES ? `\n[${size - MAX_OUTPUT_BYTES} bytes more]` : ''
      const how = ended !== '' ? ended : code === null ? `killed by ${killedBy ?? 'a signal'}` : `exit code ${code}`
      resolve(`${output}${cut}${output === '' || output.endsWith('\n') ? '' : '\n'}[${how}]`)
    })
  })
}

const DEFAULT_TIMEOUT_SECONDS = 120

const runShellTool: Tool = {
  ...declared('run_shell', 'Runs a command in the shell of the working folder; gives back its output and exit code.', {
    command: textField('The command line'),
    timeoutSeconds: optional(numberField(`Stop it after this long; ${DEFAULT_TIMEOUT_SECONDS} if not given`)),
  }),
  risk: async () => 'shell',
  describe: ({ command = '' }) => command,
  run({ command = '', timeoutSeconds = DEFAULT_TIMEOUT_SECONDS }, context) {
    const timeoutMs = 1000 * timeoutSeconds
    const [file, flag] = process.platform === 'win32' ? ['cmd.exe', '/c'] : ['/bin/sh', '-c']
    return runProcess(file, [flag, command], { ...context, timeoutMs })
  },
}

export const TOOLS: readonly Tool[] = [readFileTool, listFilesTool, searchFilesTool, editFileTool, runShellTool]

/** Finds the tool, asks for permission if needed, and runs it. Errors are returned as text for the model. */
export function toolRunner(cwd: string, permissions: Permissions): RunTool {
  const failed = (text: string) => ({ text, isError: true })
  return async ({ name, input: given }, signal) => {
    try {
      const tool = TOOLS.find((one) => one.name === name)
      if (tool === undefined)
        return failed(
          `There is no tool ${JSON.stringify(name)}. There are ${TOOLS.map((one) => one.name).join(', ')} and the readers.`,
        )
      const context = { cwd, signal }
      const input = tool.check(given) as Fields
      if (!(await permissions.allows(name, await tool.risk(input, context), tool.describe(input))))
        return failed('The user did not allow this call. Ask what to do instead.')
      return { text: await tool.run(input, context), isError: false }
    } catch (error) {
      return failed(`${name} failed: ${messageOf(error)}`)
    }
  }
}

interface Permissions {
  /** Asks the user if needed. */
  allows(tool: string, risk: Risk, what: string): Promise<boolean>
}

interface PermissionOptions {
  /** Tools that were allowed on the command line; `all` allows every tool. */
  readonly allowed: readonly string[]
  /** Undefined when questions cannot be asked: then permission is denied. */
  readonly ask: ((question: string) => Promise<string>) | undefined
}

/** No file is changed and no program is run without permission. */
export function createPermissions({ allowed, ask }: PermissionOptions): Permissions {
  const always = new Set(allowed)
  return {
    async allows(tool, risk, what) {
      if (risk === 'none' || always.has(tool) || always.has('all')) return true
      if (ask === undefined) return false
      const answer = (await ask(`Allow ${tool} ${what}? [y]es, [n]o, [a]lways in this session: `)).trim().toLowerCase()
      if (answer === 'a' || answer === 'always') always.add(tool)
      return ['y', 'yes', 'a', 'always'].includes(answer)
    },
  }
}
