import type { NewTool } from '../../core/conversation.ts'

/** A tool in the request's list. */
export interface DeclaredTool {
  type: 'function'
  function: { name: string; description: string; parameters: Record<string, unknown> }
}

export const declare = ({ name, description, parameters }: NewTool): DeclaredTool => ({
  type: 'function',
  function: { name, description, parameters: { ...parameters } },
})
