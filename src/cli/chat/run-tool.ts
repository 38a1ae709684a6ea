import type { RunTool } from './chat.ts'
import type { Permissions } from './permissions.ts'
import { editFileTool, listFilesTool, readFileTool, searchFilesTool } from './tools/files.ts'
import type { ReaderTools } from './tools/readers.ts'
import { routedTool, runShellTool } from './tools/shell.ts'
import type { Tool } from './tools/tool.ts'

export const TOOLS: readonly Tool[] = [readFileTool, listFilesTool, searchFilesTool, editFileTool, runShellTool]

export interface RunToolOptions {
  readonly cwd: string
  readonly readers: ReaderTools
  readonly permissions: Permissions
  /** Names that no tool has are taken for programs. @default false */
  readonly routeUnknown: boolean
}

/** Finds the tool, asks when it must, runs it. Whatever goes wrong becomes a sentence for the model. */
export function toolRunner({ cwd, readers, permissions, routeUnknown }: RunToolOptions): RunTool {
  const failed = (text: string) => ({ text, isError: true, exempt: true })
  return async ({ name, input }, signal) => {
    try {
      const read = readers.call(name, input)
      // What a reader gives back was taken out once and must not be taken out again.
      if (read !== undefined) return { text: await read, isError: false, exempt: true }
      const tool =
        TOOLS.find((one) => one.name === name) ?? (routeUnknown && isProgram(name) ? routedTool(name) : undefined)
      if (tool === undefined)
        return failed(
          `There is no tool ${JSON.stringify(name)}. There are ${TOOLS.map((one) => one.name).join(', ')} and the readers.`,
        )
      const context = { cwd, signal }
      if (!(await permissions.allows(name, await tool.risk(input, context), tool.describe(input))))
        return failed('The user did not allow this call. Ask what to do instead.')
      return { text: await tool.run(input, context), isError: false, exempt: false }
    } catch (error) {
      return failed(`${name} failed: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}

/** A bare name, no path: what the person allows must be what runs. */
const isProgram = (name: string): boolean => /^[a-z0-9][a-z0-9_.+-]*$/i.test(name)
