// The child of the crash test: writes rows until it is killed, and tells each only after it was acknowledged.
import { openDatabase } from '../../adapters/sql/database.ts'
import { prepareThings } from './scratch.ts'
import { writeSync } from 'node:fs'

const database = await openDatabase(process.argv[2]!)
const things = prepareThings(database)
for (let count = 0; ; count++) {
  const name = `${process.pid}-${count}`
  // A pair that must appear together or not at all.
  await database.transaction(async (tx) => {
    await tx.run(things.add, { name })
    await tx.run(things.add, { name: `${name} twin` })
  })
  writeSync(1, `${name}\n`)
}
