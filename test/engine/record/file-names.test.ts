import { describe, expect, it } from 'vitest'
import { factsOf } from '../../../src/engine/epoch/record/facts.ts'
import { fileNames } from '../../../src/engine/epoch/record/calls.ts'
import { step } from './items.ts'

describe('files that a record names', () => {
  it('stand on one line each, by whichever names calls gave them', () => {
    const items = [
      ...step('Grep', { path: 'cli/strategy/hooks_test.go', pattern: 'gpgsign' }, 'found'),
      ...step('Read', { file_path: '/home/me/repo/cli/strategy/hooks_test.go' }, 'text'),
      ...step('Read', { file_path: './README.md' }, 'text'),
      ...step('apply_patch', '*** Begin Patch\n*** Update File: cli/strategy/hooks_test.go\n@@', 'ok'),
      ...step('Edit', { file_path: '/home/me/repo/README.md', old_string: 'a', new_string: 'b' }, 'ok'),
    ]
    const touched = factsOf(items).find(({ heading }) => heading === 'Files touched')!.text
    expect(touched.split('\n')).toEqual([
      '/home/me/repo/cli/strategy/hooks_test.go changed 1× read 2×',
      '/home/me/repo/README.md changed 1× read 1×',
    ])
  })

  it('stay apart where a name may mean two files, or a folder is only a guess', () => {
    const nameOf = fileNames(['src/index.ts', '/a/src/index.ts', '/b/src/index.ts', 'main.ts', '/c/main.ts'])
    expect(['src/index.ts', '/a/src/index.ts', '/b/src/index.ts'].map(nameOf)).toEqual([
      'src/index.ts',
      '/a/src/index.ts',
      '/b/src/index.ts',
    ])
    expect(nameOf('main.ts')).toBe('main.ts')
    expect(fileNames(['C:\\repo\\src\\a.ts', 'src/a.ts'])('src/a.ts')).toBe('C:\\repo\\src\\a.ts')
  })
})
