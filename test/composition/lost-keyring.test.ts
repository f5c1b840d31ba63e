import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { cliFolder, run } from './command-fixture.ts'
import { start } from './start-fixture.ts'

test('a missing key ring stops everything that needs it', async (t) => {
  const dataDir = join(cliFolder, 'lost-keys')
  const environment = { MOORAGE_DATA_DIR: dataDir }
  await run(['migrate', 'up'], environment)
  t.is((await run(['admin', 'create-user', 'alice', '--email', 'alice@example.com'], environment)).code, 0)
  rmSync(join(dataDir, 'keyring.json'))
  const { code, err } = await run(['serve'], environment)
  t.is(code, 1)
  t.regex(err, /keyring\.json is not there, but the database is in use.*Restore it/)
  t.false(existsSync(join(dataDir, 'keyring.json')), 'a new one would hide that the old one is lost')
  const doctor = await run(['doctor'], environment)
  t.is(doctor.code, 1)
  t.regex(doctor.out, /^problem +key ring .*is not there/m)
  t.notRegex(doctor.out, /the first start makes it/)
})

test('a foreign key ring stops its users until the operator accepts it', async (t) => {
  const dataDir = join(cliFolder, 'other-keys')
  const environment = { MOORAGE_DATA_DIR: dataDir, MOORAGE_LISTEN: '127.0.0.1:0', MOORAGE_OPS_LISTEN: '127.0.0.1:0' }
  await run(['migrate', 'up'], environment)
  const makeAdmin = ['admin', 'create-user', 'alice', '--email', 'alice@example.com', '--admin']
  t.is((await run(makeAdmin, environment)).code, 0)
  rmSync(join(dataDir, 'keyring.json'))
  t.is((await run(['keys', 'init'], environment)).code, 0)
  for (const words of [['serve'], ['admin', 'unlock', 'alice']]) {
    const { code, err } = await run(words, environment)
    t.is(code, 1, words.join(' '))
    t.regex(err, /keyring\.json is not that of this database.*MOORAGE_KEYRING/)
  }
  const doctor = await run(['doctor'], environment)
  t.is(doctor.code, 1)
  t.regex(doctor.out, /^problem +key ring .*is not that of this database/m)
  const accepted = { ...environment, MOORAGE_TLS: 'false', MOORAGE_HELM: 'off', MOORAGE_DRAIN_SECONDS: '0' }
  const service = await start(accepted, { acceptsKeyring: true })
  t.is(service.firstAdmin, undefined)
  await service.stop()
  // From then on the key ring is that of the database.
  await (await start(accepted)).stop()
})
