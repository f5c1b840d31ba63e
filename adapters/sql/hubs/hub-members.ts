import type { Knex } from 'knex'
import { getOrMake } from '../../../core/kernel/cache.ts'
import type { HubMember, HubMembers } from '../../../core/hubs/spokes/ports.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { accounts, users } from '../tables/identity.ts'
import { nullable, selectedAs } from '../kit/columns.ts'
import { teams } from '../tables/organizations.ts'

/** People who may sign in, under the alias `u`. */
const people = (k: Knex, from: Knex.QueryBuilder): Knex.QueryBuilder =>
  from
    .join('accounts as a', 'a.id', 'u.id')
    .whereNull('u.robot_org_id')
    .where('u.is_active', 1)
    .where('u.prohibit_login', 0)
    .select('u.id', 'a.name as login', k.raw('null as team'))

/** A person, with one of the teams; the query selects them. */
const memberRow = {
  id: selectedAs(users.id),
  login: selectedAs(accounts.name),
  team: selectedAs(nullable(teams.name)),
}

/** The people of accounts, on SQL. */
export const makeSqlHubMembers = (db: SqlDatabase): ((runner: SqlRunner) => HubMembers) => {
  const listOf = db.prepare({ accountId: accounts.id }, memberRow, (k, p) =>
    people(k, k('users as u').where('u.id', p.accountId)).unionAll([
      people(k, k('org_members as m').join('users as u', 'u.id', 'm.user_id').where('m.org_id', p.accountId))
        .leftJoin('team_members as tm', (on) => on.on('tm.user_id', 'm.user_id').on('tm.org_id', 'm.org_id'))
        .leftJoin('teams as t', 't.id', 'tm.team_id')
        .clearSelect()
        .select('u.id', 'a.name as login', 't.name as team'),
    ]),
  )
  return (runner) => ({
    async listOf(accountId) {
      const rows = await runner.all(listOf, { accountId })
      const found = new Map<number, HubMember & { readonly teams: string[] }>()
      for (const { id, login, team } of rows) {
        const member = getOrMake(found, id, () => ({ userId: id, login, teams: [] }))
        if (team !== undefined) member.teams.push(team)
      }
      return [...found.values()]
        .map((member) => ({ ...member, teams: member.teams.toSorted() }))
        .toSorted((a, b) => a.userId - b.userId)
    },
  })
}
