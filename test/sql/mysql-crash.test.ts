// process: own - ends processes or changes its own
import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from '../../core/kernel/failure.ts'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { startDatabaseServer } from '../support/components/database-server.ts'
import { needing } from '../support/components/needing.ts'
import { until } from '../support/until.ts'
import { makeThings } from './scratch.ts'
import { namesIn, prepareThings } from './things.ts'

const test = needing('mariadb')

test('a killed server loses nothing acknowledged, and the pool recovers', async (t) => {
  const server = await startDatabaseServer()
  const database = await openDatabase(await server.createDatabase())
  t.teardown(async () => {
    await database.close()
    await server.stop()
  })
  await makeThings(database)
  const things = prepareThings(database)
  const acknowledged: string[] = []
  const unexpected: unknown[] = []
  let isOver = false
  const writer = async (id: number) => {
    for (let count = 0; !isOver; count++) {
      const name = `${id}-${count}`
      try {
        await database.transaction((tx) => tx.run(things.add, { name }))
        acknowledged.push(name)
      } catch (error) {
        if (!(error instanceof Unavailable)) unexpected.push(error)
        await sleep(20)
      }
    }
  }
  const writers = [1, 2, 3, 4].map(writer)
  await until('changes are acknowledged', () => acknowledged.length > 0 || undefined)
  await sleep(300)
  const before = acknowledged.length
  await server.kill()
  await sleep(200)
  const atKill = acknowledged.length
  await server.restart()
  await until('changes are acknowledged again', () => acknowledged.length >= atKill + 20 || undefined)
  isOver = true
  await Promise.all(writers)
  t.true(before > 0)
  t.deepEqual(unexpected, [])
  const kept = new Set(await namesIn(database, things))
  t.deepEqual(
    acknowledged.filter((name) => !kept.has(name)),
    [],
  )
})
