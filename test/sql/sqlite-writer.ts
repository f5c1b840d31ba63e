// The child of the crash test: writes rows until it is killed, and tells each only after it was acknowledged.
import { writeSync } from 'node:fs'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { prepareThings } from './things.ts'

// Few pages: the kill also meets a copy of the WAL by the thread.
const database = await openDatabase(process.argv[2]!, { sqlite: { checkpoints: { pages: 20 } } })
const add = prepareThings(database).add
for (let count = 0; ; count++) {
  const name = `${process.pid}-${count}`
  // A pair that must appear together or not at all.
  await database.transaction(async (tx) => {
    await tx.run(add, { name })
    await tx.run(add, { name: `${name} twin` })
  })
  writeSync(1, `${name}\n`)
}
