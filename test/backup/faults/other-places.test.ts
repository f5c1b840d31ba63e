// process: own - keeps its process busy
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { readArchive } from '../../../composition/runtime/cli/backup/archive.ts'
import { startS3Store } from '../../contracts/s3-store.ts'
import { needing } from '../../support/components/needing.ts'
import { emptyMysqlUrl } from '../../support/databases.ts'
import { startService } from '../../support/service.ts'
import type { Settings } from '../drill.fixture.ts'
import {
  archiveOfLastRelease,
  backup,
  differences,
  newDeployment,
  newPath,
  passphraseFile,
  restoresLastRelease,
  rowsOf,
} from '../drill.fixture.ts'

const key = ['--passphrase-file', passphraseFile]

needing('mariadb').serial('an archive of the last release is restored into MariaDB', async (t) => {
  t.timeout(300_000)
  await restoresLastRelease(t, newDeployment(await emptyMysqlUrl()))
})

test.serial('tables of a third-party part are restored only where it is loaded', async (t) => {
  t.timeout(300_000)
  const plugin = join(fileURLToPath(new URL('../../composition/fixtures/berths-part', import.meta.url)), 'part.js')
  const settings: Settings = { ...newDeployment(), MOORAGE_PLUGINS: plugin }
  const service = await startService({ settings })
  t.teardown(() => service.stop())
  const send = async (method: string, path: string, body: object): Promise<void> => {
    const { status, text } = await service.send(method, `/api/v1${path}`, { token: service.adminToken, body })
    t.true(status < 300, text)
  }
  await send('POST', '/orgs', { username: 'harbour' })
  await send('POST', '/berths/harbour', { name: 'east' })
  await send('PUT', '/berths/harbour/east/ship', { ship: 'Argo', days: 2 })
  // The backup records its time afterwards.
  const expected = await rowsOf(settings['MOORAGE_DATABASE_URL'] ?? '')
  const archive = newPath('.tar')
  t.is((await backup(settings, 'create', archive, ...key)).code, 0)
  t.regex(expected.get('berths_ships')?.join() ?? '', /Argo/)

  const without = newDeployment()
  const refused = await backup(without, 'restore', archive, ...key)
  t.is(refused.code, 1)
  t.regex(refused.err, /The backup has tables of the part berths, which is not loaded \(MOORAGE_PLUGINS\)/)
  t.false(existsSync(without['MOORAGE_DATA_DIR'] ?? ''), 'nothing was written')

  const target: Settings = { ...newDeployment(), MOORAGE_PLUGINS: plugin }
  const restored = await backup(target, 'restore', archive, ...key)
  t.is(restored.code, 0, restored.err + restored.out)
  t.deepEqual(differences(await rowsOf(target['MOORAGE_DATABASE_URL'] ?? ''), expected), [])
  const again = await startService({ settings: target })
  t.teardown(() => again.stop())
  const berths = await again.send('GET', '/api/v1/berths/harbour', { token: again.adminToken })
  t.regex(berths.text, /"east".*"Argo"/)

  // The part is not loaded while the backup is made: its tables are in it all the same.
  await again.stop()
  const { MOORAGE_PLUGINS: _, ...unloaded } = target
  const other = newPath('.tar')
  t.is((await backup(unloaded, 'create', other, ...key)).code, 0)
  const { manifest } = await readArchive(other)
  t.is(manifest.tables.find(({ name }) => name === 'berths_ships')?.rows, 1)
  t.true(manifest.migrations.includes('berths/0001-tables'))
})

test.serial('documents move between a folder and an S3-compatible store', async (t) => {
  t.timeout(300_000)
  const store = await startS3Store(() => new Date())
  t.teardown(() => store.emulator.stop())
  const target = { ...newDeployment(), MOORAGE_CONTRACT_DOCUMENTS: store.url }
  const restored = await backup(target, 'restore', archiveOfLastRelease, ...key)
  t.is(restored.code, 0, restored.err + restored.out)
  const [document] = store.objects.values()
  t.is(document?.body, '%PDF-1.7\nof before\n%%EOF\n')

  const archive = newPath('.tar')
  const created = await backup(target, 'create', archive, ...key)
  t.regex(created.out, /, 1 documents\./, created.err)
  const back = newDeployment()
  const signIn = newPath()
  writeFileSync(signIn, 'nora\nnot her password\n')
  const returned = await backup(back, 'restore', archive, ...key, '--sign-in', signIn)
  t.is(returned.code, 1)
  t.regex(returned.out, /problem +sign-in: nora cannot sign in/)
  const again = await backup(back, 'create', newPath('.tar'), ...key)
  t.regex(again.out, /, 1 documents\./)
  t.is(again.err, '')

  // A store that does not answer ends the backup: one without its documents would look whole.
  store.emulator.instead = { status: 503, body: '<Error><Code>SlowDown</Code></Error>' }
  const path = newPath('.tar')
  const down = await backup(target, 'create', path, ...key)
  t.is(down.code, 1)
  t.false(existsSync(path))
  const unfinished = { ...newDeployment(), MOORAGE_CONTRACT_DOCUMENTS: store.url }
  t.is((await backup(unfinished, 'restore', archive, ...key)).code, 1)
  t.regex((await backup(unfinished, 'create', newPath('.tar'), ...key)).err, /has begun and not ended/)
  store.emulator.instead = undefined
  t.is((await backup(unfinished, 'restore', archive, ...key)).code, 0)

  const selfHosted: Settings = { ...newDeployment(), MOORAGE_DEPLOYMENT_TYPE: 'SelfHosted' }
  const closed = await backup(selfHosted, 'restore', archiveOfLastRelease, ...key)
  t.is(closed.code, 1)
  t.regex(closed.err, /The backup has documents, and no part of this deployment keeps them/)
  t.false(existsSync(selfHosted['MOORAGE_DATA_DIR'] ?? ''), 'nothing was written')
})
