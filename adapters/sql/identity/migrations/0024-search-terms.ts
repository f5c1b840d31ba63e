import type { Knex } from 'knex'
import { createTable } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

/** The numbers from 1 to 299, as a derived table that both kinds of database know. */
const digits = (name: string, last: number): string =>
  `(${Array.from({ length: last + 1 }, (_, digit) => `select ${digit} as d`).join(' union all ')}) as ${name}`
const numbers = `(select 100 * h.d + 10 * t.d + o.d as i from ${digits('h', 2)} cross join ${digits('t', 9)} cross join ${digits('o', 9)}) as n`

const separators = `(' ', '-', '.', '''')`

/**
 * So many statements fill each table, none of them with all rows. Their number is fixed, so that a run that was cut is
 * taken up.
 */
const slices = Array.from({ length: 16 }, (_, slice) => slice)

/**
 * `audience` says who finds it: 0 everybody, 1 the signed-in, 2 site admins and the user. `place`: 0 the whole text, 1
 * a part of it.
 */
const createTables = async (knex: Knex, dialect: 'sqlite' | 'mysql'): Promise<void> => {
  if (dialect === 'sqlite') {
    // Without a row number a row is kept once and not twice beside its index.
    await knex.raw(
      `create table user_search_terms (
        user_id bigint not null references users (id) on delete cascade, audience tinyint not null, place tinyint not null, term varchar(160) not null,
        primary key (user_id, place, term)) without rowid`,
    )
    await knex.raw(
      `create table email_search_terms (
        email_id bigint not null references emails (id) on delete cascade, place tinyint not null, term varchar(254) not null,
        primary key (email_id, place, term)) without rowid`,
    )
  } else {
    await createTable(knex, dialect, 'user_search_terms', (table) => {
      table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
      table.tinyint('audience').notNullable()
      table.tinyint('place').notNullable()
      table.string('term', 160).notNullable()
      table.primary(['user_id', 'place', 'term'])
    })
    await createTable(knex, dialect, 'email_search_terms', (table) => {
      table.bigInteger('email_id').notNullable().unsigned().references('emails.id').onDelete('CASCADE')
      table.tinyint('place').notNullable()
      table.string('term', 254).notNullable()
      table.primary(['email_id', 'place', 'term'])
    })
  }
}

export const migration: Migration = {
  id: '0024-identity-search-terms',
  summary: 'what users and addresses are found by: the text from each place in it on; filled for those that there are',
  async up(knex, dialect) {
    await createTables(knex, dialect)
    const [insert, length] = dialect === 'mysql' ? ['insert ignore', 'char_length'] : ['insert or ignore', 'length']
    for (const slice of slices) {
      await knex.raw(
        `${insert} into user_search_terms (user_id, audience, place, term)
        select u.id,
          case when u.is_active = 1 and u.visibility = 'public' then 0 when u.is_active = 1 and u.visibility = 'limited' then 1 else 2 end,
          case when n.i = 1 then 0 else 1 end,
          substr(u.search_name, n.i)
        from users as u join accounts as a on a.id = u.id cross join ${numbers}
        where u.id % ${slices.length} = ${slice} and u.robot_org_id is null and n.i between 1 and ${length}(u.search_name)
          and (n.i <= ${length}(a.lower_name)
            or (substr(u.search_name, n.i - 1, 1) in ${separators} and substr(u.search_name, n.i, 1) not in ${separators}))`,
      )
      await knex.raw(
        `${insert} into email_search_terms (email_id, place, term)
        select e.id, case when n.i = 1 then 0 else 1 end, substr(e.lower_email, n.i)
        from emails as e cross join ${numbers}
        where e.id % ${slices.length} = ${slice} and n.i between 1 and ${length}(e.lower_email)`,
      )
    }
    // Afterwards: an index of rows that are there already is built in a fraction of the time.
    await knex.schema.alterTable(
      'user_search_terms',
      (table) => void table.index(['audience', 'place', 'term', 'user_id']),
    )
    await knex.schema.alterTable('email_search_terms', (table) => void table.index(['place', 'term', 'email_id']))
  },
}
