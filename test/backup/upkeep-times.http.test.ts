import test from 'ava'
import { runCommandLine } from '../../composition/moorage.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import { newDeployment, newPath, passphraseFile } from './drill.fixture.ts'

let service: PopulatedService
let environment: Readonly<Record<string, string>>
test.before(async () => {
  const made = newDeployment()
  service = await startPopulatedService({ MOORAGE_DATA_DIR: made['MOORAGE_DATA_DIR'] ?? '' })
  environment = { ...made, MOORAGE_DATABASE_URL: service.databaseUrl }
  // The sample of the bus has a seed that no key ring has sealed.
  await service.write('delete from bus_users')
  await service.write('delete from bus_identities')
})
test.after.always(() => service?.stop())

const lastSeconds = async (work: string): Promise<number> => {
  const text = await (await fetch(new URL('/metrics', service.opsUrl))).text()
  const form = new RegExp(`moorage_upkeep_last_success_timestamp_seconds\\{work="${work}"\\} (\\S+)`)
  return Number(form.exec(text)?.[1])
}
const run = async (...words: readonly string[]) => {
  const said: string[] = []
  const code = await runCommandLine(words, { environment, print: () => undefined, say: (line) => void said.push(line) })
  return { code, said }
}

test.serial('metrics show when a backup and a check of the audit log last succeeded', async (t) => {
  t.deepEqual([await lastSeconds('backup'), await lastSeconds('audit_check')], [0, 0])
  const begunAt = Date.now() / 1000 - 60
  t.like(await run('backup', 'create', newPath('.tar'), '--passphrase-file', passphraseFile), { code: 0 })
  t.true((await lastSeconds('backup')) > begunAt)
  t.is(await lastSeconds('audit_check'), 0)
  t.like(await run('audit', 'verify'), { code: 0 })
  const checked = await lastSeconds('audit_check')
  t.true(checked > begunAt)

  await service.write("update audit_events set action = 'forged' where id = 1")
  t.like(await run('audit', 'verify'), { code: 1 })
  t.is(await lastSeconds('audit_check'), checked)
  const backed = await lastSeconds('backup')
  t.not((await run('backup', 'create', '/does-not-exist/b.tar', '--no-key-ring')).code, 0)
  t.is(await lastSeconds('backup'), backed)
})
