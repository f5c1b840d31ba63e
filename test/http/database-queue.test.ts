// process: waiting - fills the connections of a MariaDB
import { openPatiently } from '../support/databases.ts'
import { needing } from '../support/components/needing.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const test = needing('mariadb')

test('an account that waits for a lock leaves connections to others', async (t) => {
  const settings = { MOORAGE_DATABASE_TIMEOUT_SECONDS: '60' }
  const service = await startService({ database: 'mysql', settings })
  const database = await openPatiently(service.databaseUrl)
  t.teardown(async () => {
    await database.close()
    await service.stop()
  })
  const body = { username: 'other', email: 'other@example.com', password: 'quiet-lantern-over-water-17' }
  await service.send('POST', '/api/v1/admin/users', {
    token: service.adminToken,
    body: { ...body, must_change_password: false },
  })
  const other = await service.tokenFor('other')
  const waits = async () => {
    const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text()
    return Number(/^moorage_database_connections\{\w+="waiting"\} (\d+)/m.exec(metrics)?.[1])
  }
  const [account] = await database.query<{ id: number }>((k) => k('accounts').where('name', 'admin').select('id'))
  const changes = await database.transaction(async (tx) => {
    await tx.query((k) => k('users').where('id', Number(account?.id)).forUpdate())
    const waiting = Array.from({ length: 20 }, (_, count) =>
      service.send('PATCH', '/api/v1/user/settings', {
        token: service.adminToken,
        body: { full_name: `admin ${count}` },
      }),
    )
    await until('changes of the account wait for a connection', async () => ((await waits()) > 0 ? true : undefined))
    for (const path of ['/api/v1/user/orgs', '/api/v1/user/emails']) {
      const answer = await service.send('GET', path, { token: other })
      t.is(answer.status, 200)
    }
    t.true((await waits()) > 0, 'the changes still wait')
    return waiting
  })
  for (const { status } of await Promise.all(changes)) t.is(status, 200)
})
