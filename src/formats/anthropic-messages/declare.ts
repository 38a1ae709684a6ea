import type { NewTool } from '../../core/conversation.ts'

/** A tool in the request's list. */
export interface DeclaredTool {
  name: string
  description: string
  input_schema: { type: 'object'; [key: string]: unknown }
}

export const declare = ({ name, description, parameters }: NewTool): DeclaredTool => ({
  name,
  description,
  input_schema: { ...parameters, type: 'object' },
})
