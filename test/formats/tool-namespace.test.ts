import { describe, expect, it } from 'vitest'
import { declaredAs, isRecursiveSchema } from '../../src/formats/kit/tools.ts'

describe('a function declaration as OpenAI models read it', () => {
  it('carries titles and descriptions of the parameters and of each member', () => {
    const text = declaredAs({
      type: 'function',
      name: 'get_city',
      description: 'Get a city.\nArgs: none',
      parameters: {
        type: 'object',
        title: 'get_city_args',
        description: 'Typed arguments.',
        properties: { city: { type: 'string', title: 'City Name', description: 'Which one' } },
        required: ['city'],
      },
    })
    expect(text).toBe(
      '// Get a city.\nArgs: none\n' +
        'type get_city = (_: // get_city_args\n// Typed arguments.\n{\n// City Name\n// Which one\ncity: string,\n}) => any;\n\n',
    )
  })
})

describe('a schema', () => {
  const defined = (node: object): object => ({
    $defs: { Node: node, Leaf: { type: 'string' } },
    properties: { tree: { $ref: '#/$defs/Node' } },
  })

  it('is recursive when a definition leads back to itself, through others too', () => {
    const children = { items: { $ref: '#/$defs/Node' }, type: 'array' }
    expect(isRecursiveSchema(defined({ properties: { children } }))).toBe(true)
    expect(
      isRecursiveSchema({ $defs: { A: { anyOf: [{ $ref: '#/$defs/B' }] }, B: { items: { $ref: '#/$defs/A' } } } }),
    ).toBe(true)
  })

  it('is not when references end', () => {
    expect(isRecursiveSchema(defined({ properties: { leaf: { $ref: '#/$defs/Leaf' } } }))).toBe(false)
    expect(isRecursiveSchema({ type: 'object' })).toBe(false)
    expect(isRecursiveSchema(undefined)).toBe(false)
  })
})
