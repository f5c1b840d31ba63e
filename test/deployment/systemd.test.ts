// process: waiting - runs systemd-analyze
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { needing } from '../support/components/needing.ts'
import { runCommand } from '../support/components/run-command.ts'
import { programOf } from './programs.ts'

const unit = readFileSync(fileURLToPath(new URL('../../deploy/systemd/moorage.service', import.meta.url)), 'utf8')
const command = readFileSync(fileURLToPath(new URL('../../deploy/systemd/command.sh', import.meta.url)), 'utf8')
const test = needing('systemd')

/** Writes the unit, as if the package were installed, and runs systemd-analyze on it. */
const analyzed = async (text: string, ...words: readonly string[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-unit-'))
  try {
    const file = join(folder, 'moorage.service')
    writeFileSync(file, text.replace('/opt/moorage/node_modules/.bin/moorage', process.execPath))
    return await runCommand(await programOf('systemd-analyze', 'systemd'), [...words, file])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('the unit is valid', async (t) => {
  const { status, stderr } = await analyzed(unit, 'verify', '--man=no')
  t.is(status, 0, stderr)
  t.is(stderr, '')
  const misspelt = await analyzed(unit.replace('ProtectSystem=', 'ProtectSystems='), 'verify', '--man=no')
  t.regex(misspelt.stderr, /ProtectSystems/, 'a misspelt line would be found')
})

test('commands run with the user, the settings and the folder of the unit', (t) => {
  const properties = [...command.matchAll(/--property=(\S+)/g)].map(([, property = '']) => property)
  t.true(properties.length > 4)
  const lines = unit.split('\n')
  // The unit has the user by its name.
  for (const property of properties) if (property !== 'User=moorage') t.true(lines.includes(property), property)
  t.regex(command, /\/opt\/moorage\/node_modules\/\.bin\/moorage "\$@"/)
  t.regex(unit, /^ExecStart=\/opt\/moorage\/node_modules\/\.bin\/moorage serve$/m)
})

test('the exposure of the unit is under 2.0', async (t) => {
  const { status, stdout } = await analyzed(unit, 'security', '--offline=true', '--no-pager', '--threshold=20')
  const exposure = Number(/Overall exposure level for moorage\.service: ([\d.]+)/.exec(stdout)?.[1])
  t.true(exposure < 2, stdout)
  t.is(status, 0)
  t.log(exposure)
})
