import type { NewTool } from '../../core/conversation.ts'
import { parseInput } from '../../formats/wire/steps.ts'

/** Answers a call of one of our tools. */
export type Answering = (name: string, input: unknown) => Promise<string>

/** Input as a schema in the form that libraries share (standardschema.dev). What it holds is checked by the tool itself. */
interface StandardSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => { readonly value: unknown }
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>
      readonly output: () => Record<string, unknown>
    }
  }
}

/** An entry of the AI SDK's `tools`. */
export interface AiSdkReader {
  readonly description: string
  readonly inputSchema: StandardSchema
  readonly execute: (input: unknown) => Promise<string>
}

/** An element of an Agents SDK agent's `tools`. */
export interface AgentsReader {
  type: 'function'
  name: string
  description: string
  parameters: {
    type: 'object'
    properties: Record<string, Record<string, unknown>>
    required: string[]
    additionalProperties: true
  }
  strict: boolean
  invoke: (context: unknown, input: string) => Promise<string>
  needsApproval: () => Promise<boolean>
  isEnabled: () => Promise<boolean>
}

/** What LangChain's `tool(run, fields)` takes. */
export interface LangChainReader {
  readonly run: (input: unknown) => Promise<string>
  readonly fields: { name: string; description: string; schema: Record<string, unknown> & { type: 'object' } }
}

/** Our tools in the shape of a framework, each with what answers it. */
export interface FrameworkReaders {
  'ai-sdk': Record<string, AiSdkReader>
  'openai-agents': AgentsReader[]
  langchain: LangChainReader[]
}

export type FrameworkFormat = keyof FrameworkReaders

const SHAPES: { readonly [F in FrameworkFormat]: (tools: readonly NewTool[], call: Answering) => FrameworkReaders[F] } =
  {
    'ai-sdk': (tools, call) =>
      Object.fromEntries(
        tools.map(({ name, description, parameters }) => [
          name,
          { description, inputSchema: standardSchema(parameters), execute: (input) => call(name, input) },
        ]),
      ),
    'openai-agents': (tools, call) =>
      tools.map(({ name, description, parameters }) => ({
        type: 'function',
        name,
        description,
        parameters: looseSchema(parameters),
        strict: false,
        invoke: (_, input) => call(name, parseInput(input)),
        needsApproval: async () => false,
        isEnabled: async () => true,
      })),
    langchain: (tools, call) =>
      tools.map(({ name, description, parameters }) => ({
        run: (input) => call(name, input),
        fields: { name, description, schema: { ...parameters, type: 'object' } },
      })),
  }

export const isFramework = (format: string): format is FrameworkFormat => Object.hasOwn(SHAPES, format)

export const FRAMEWORK_FORMATS: readonly string[] = Object.keys(SHAPES)

export const readersFor = <F extends FrameworkFormat>(
  format: F,
  tools: readonly NewTool[],
  call: Answering,
): FrameworkReaders[F] => SHAPES[format](tools, call)

/** Only shown: the tools' own check has better messages. */
export function standardSchema(parameters: object): StandardSchema {
  const schema = (): Record<string, unknown> => ({ ...parameters })
  return {
    '~standard': {
      version: 1,
      vendor: 'plimsoll',
      validate: (value) => ({ value }),
      jsonSchema: { input: schema, output: schema },
    },
  }
}

function looseSchema({ properties, required }: NewTool['parameters']): AgentsReader['parameters'] {
  return {
    type: 'object',
    properties: properties as Record<string, Record<string, unknown>>,
    required: [...((required ?? []) as readonly string[])],
    additionalProperties: true,
  }
}
