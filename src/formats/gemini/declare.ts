import type { NewTool } from '../../core/conversation.ts'

export interface FunctionDeclaration {
  name: string
  description: string
  parametersJsonSchema: Record<string, unknown>
}

/** A tool in the request's list: it holds any number of functions. */
export interface DeclaredTool {
  functionDeclarations: FunctionDeclaration[]
}

export const declareFunction = ({ name, description, parameters }: NewTool): FunctionDeclaration => ({
  name,
  description,
  parametersJsonSchema: { ...parameters },
})

export const declare = (tool: NewTool): DeclaredTool => ({ functionDeclarations: [declareFunction(tool)] })
