// process: own - starts a service as a process
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { moorage } from '../bus/bus-fixture.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { migratedMysqlUrl, openPatiently } from '../support/databases.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'
import { bindOf, marketplaceRoot, secretOf } from './market-service.ts'

const path = `${marketplaceRoot}/marketplaces/cloudC/notification/resource?secret=${secretOf}`

if (!isSwitchedOff('mariadb'))
  test('a notification whose process is killed binds once when repeated', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'moorage-killed-notification-'))
    const url = await migratedMysqlUrl()
    const settings = {
      MOORAGE_DATA_DIR: folder,
      MOORAGE_DATABASE_URL: url,
      MOORAGE_TLS: 'false',
      MOORAGE_DEPLOYMENT_TYPE: 'CloudCMarketplaceDeployment',
      MOORAGE_MARKETPLACE_SECRET: secretOf,
    }
    const start = () => startServiceProcess({ settings })
    let service = await start()
    const database = await openPatiently(url)
    t.teardown(async () => {
      await service.stop()
      await database.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const made = await moorage(settings, 'marketplace', 'installers', 'create', '--json')
    t.is(made.status, 0, made.said)
    const { installerId } = JSON.parse(made.printed) as { installerId: string }
    const bindingInfo = bindOf({ marketplace: 'CloudC', ref: installerId })
    const body = { eventType: 'active', eventTime: '2026-11-20T12:00:00.1234567Z', bindingInfo }
    const rowsOf = async (table: string): Promise<number> => (await database.query((k) => k(table).select('id'))).length

    // The audit log is the last that the transaction writes.
    await database.transaction(async (tx) => {
      await tx.query((k) => k('audit_heads').select('*').forUpdate())
      const sent = service.send('POST', path, { body }).catch(() => undefined)
      await until('the transaction waits', async () => {
        const waiting = await tx.query((k) =>
          k('information_schema.innodb_trx').where('trx_state', 'LOCK WAIT').select('trx_id'),
        )
        return waiting.length > 0 || undefined
      })
      service.signal('SIGKILL')
      t.is(await service.exited, 'SIGKILL')
      await sent
    })
    service = await start()
    t.deepEqual([await rowsOf('marketplace_subscriptions'), await rowsOf('marketplace_inbox')], [0, 0])
    const answers = await Promise.all(Array.from({ length: 4 }, () => service.send('POST', path, { body })))
    t.deepEqual([...new Set(answers.map(({ status }) => status))], [200], answers[0]?.text ?? '')
    t.is(new Set(answers.map(({ text }) => text)).size, 1)
    t.deepEqual([await rowsOf('marketplace_subscriptions'), await rowsOf('marketplace_inbox')], [1, 1])
  })
