import type { NewTool } from '../../core/conversation.ts'

/** A tool in the request's list. */
export interface DeclaredTool {
  type: 'function'
  name: string
  description: string
  parameters: Record<string, unknown>
  strict: false
}

/** Left out, `strict` means true on this wire, and a strict schema must list every property as required. */
export const declare = ({ name, description, parameters }: NewTool): DeclaredTool => ({
  type: 'function',
  name,
  description,
  parameters: { ...parameters },
  strict: false,
})
