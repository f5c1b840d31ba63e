import { makeSqlHubMembers } from '../../adapters/sql/hubs/hub-members.ts'
import { eachDatabase } from '../support/databases.ts'
import { hubMembersSuite } from './hub-members.suite.ts'
import { declareSuite } from '../support/declare-suite.ts'

for (const database of eachDatabase()) {
  declareSuite(hubMembersSuite, database.name, async () => {
    const db = await database.open()
    await hubMembersSuite.fill?.(db)
    return { members: makeSqlHubMembers(db)(db), close: () => db.close() }
  })
}
