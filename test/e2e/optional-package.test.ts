import { describe, expect, it } from 'vitest'
import { importOptional, optionalPackage } from '../../src/drivers/optional-package.ts'

describe('an optional package that is not installed', () => {
  it('says what is missing and how to get it, with npx too', async () => {
    await expect(importOptional('@acme/none/stdio', 'The MCP server')).rejects.toMatchObject({
      code: 'unsupported',
      fields: { package: '@acme/none' },
      message:
        'The MCP server needs the optional package @acme/none, which is not installed. ' +
        'Install it beside plimsoll with `npm install @acme/none`; with npx: `npx -p plimsoll -p @acme/none plimsoll …`.',
    })
    expect(() => optionalPackage('none/none.wasm', 'Running code')).toThrow('npm install none`')
    expect(optionalPackage('sql.js', 'Querying')).toContain('sql.js')
  })

  it('does not take another fault for that', async () => {
    await expect(importOptional('data:text/javascript,const', 'The MCP server')).rejects.toThrow(SyntaxError)
  })
})
