import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'

/** Statements that find rows which must not be, by what is wrong with them. */
const violations: Readonly<Record<string, string>> = {
  'an account that is nothing':
    "select a.name from accounts a left join users u on u.id = a.id left join organizations o on o.id = a.id where u.id is null and o.id is null or (a.kind = 'user') <> (u.id is not null)",
  'two accounts of one name': 'select lower_name as name from accounts group by lower_name having count(*) > 1',
  'a user without exactly one primary address':
    'select u.id as name from users u where (select count(*) from emails e where e.user_id = u.id and e.is_primary = 1) <> 1 and u.robot_org_id is null and u.unconfirmed_since is null',
  'one address of two users': 'select lower_email as name from emails group by lower_email having count(*) > 1',
  'an organization without an owner':
    "select o.id as name from organizations o where not exists (select 1 from teams t join team_members tm on tm.team_id = t.id where t.org_id = o.id and t.permission = 'owner')",
  'a member of a team who is no member of its organization':
    'select tm.user_id as name from team_members tm left join org_members m on m.org_id = tm.org_id and m.user_id = tm.user_id where m.user_id is null',
  'a member of no team':
    'select m.user_id as name from org_members m where not exists (select 1 from team_members tm where tm.org_id = m.org_id and tm.user_id = m.user_id) and not exists (select 1 from robot_accounts rb where rb.id = m.user_id)',
  'a robot account that its user does not know':
    'select u.id as name from users u left join robot_accounts rb on rb.id = u.id where coalesce(u.robot_org_id, 0) <> coalesce(rb.org_id, 0)',
  'a robot account in another organization, or not in its own':
    'select rb.id as name from robot_accounts rb where (select count(*) from org_members m where m.user_id = rb.id) <> 1 or not exists (select 1 from org_members m where m.user_id = rb.id and m.org_id = rb.org_id)',
  'a robot account with power over people':
    "select rb.id as name from robot_accounts rb join users u on u.id = rb.id where u.is_admin = 1 or exists (select 1 from team_members tm join teams t on t.id = tm.team_id where tm.user_id = rb.id and t.permission = 'owner') or exists (select 1 from emails e where e.user_id = rb.id) or exists (select 1 from sessions s where s.user_id = rb.id)",
  'a token of a robot account that reaches further than its organization':
    'select t.id as name from access_tokens t join robot_accounts rb on rb.id = t.user_id where coalesce(t.only_org_id, 0) <> rb.org_id',
  'an invitation to a team of another organization':
    'select i.id as name from org_invitations i join org_invitation_teams it on it.invitation_id = i.id join teams t on t.id = it.team_id where t.org_id <> i.org_id',
  'a team member in the wrong organization':
    'select tm.team_id as name from team_members tm join teams t on t.id = tm.team_id where t.org_id <> tm.org_id',
  'a role in a team of another organization':
    'select tr.role_id as name from team_roles tr join teams t on t.id = tr.team_id join roles r on r.id = tr.role_id where t.org_id <> tr.org_id or r.org_id <> tr.org_id',
  'a role without permissions':
    'select r.id as name from roles r where not exists (select 1 from role_permissions p where p.role_id = r.id)',
  'permissions of no role':
    'select p.role_id as name from role_permissions p left join roles r on r.id = p.role_id where r.id is null',
  'attachments of no role or team':
    'select tr.role_id as name from team_roles tr left join roles r on r.id = tr.role_id left join teams t on t.id = tr.team_id where r.id is null or t.id is null',
  'a recovery code without a second factor':
    'select r.user_id as name from recovery_codes r left join two_factors f on f.user_id = r.user_id and f.enrolled_at is not null where f.user_id is null and not exists (select 1 from passkeys pk where pk.user_id = r.user_id)',
  'a token without a user':
    'select t.id as name from access_tokens t left join users u on u.id = t.user_id where u.id is null',
  'a user who follows a missing user':
    'select f.user_id as name from follows f left join users u on u.id = f.target_id where u.id is null',
  'a role whose making or end is not recorded once':
    "select r.id as name from roles r where (select count(*) from audit_events e where e.action = 'role.created' and e.object_id = r.id and e.result = 'done') <> 1 or exists (select 1 from audit_events e where e.action = 'role.deleted' and e.object_id = r.id and e.result = 'done')",
  'an organization whose making is not recorded once':
    "select o.id as name from organizations o where (select count(*) from audit_events e where e.action = 'organization.created' and e.object_id = o.id and e.result = 'done') <> 1",
  'a user whose making is not recorded once':
    "select u.id as name from users u where (select count(*) from audit_events e where e.action in ('user.created', 'user.signed_up') and e.object_id = u.id and e.result = 'done') <> 1 and u.is_admin = 0 and u.robot_org_id is null",
  'a robot account whose making is not recorded once':
    "select rb.id as name from robot_accounts rb where (select count(*) from audit_events e where e.action = 'robot.created' and e.object_id = rb.id and e.result = 'done') <> 1",
  'a request that is begun and not ended': "select id as name from idempotency_records where state <> 'answered'",
}

/** What is wrong with the rows of an idle database, in words. */
export const brokenInvariants = async (database: SqlDatabase): Promise<readonly string[]> => {
  const found: string[] = []
  for (const [what, sql] of Object.entries(violations)) {
    const rows = await database.query<{ name: unknown }>((k) => k.raw(sql))
    if (rows.length > 0) found.push(`${what}: ${rows.map(({ name }) => String(name)).join(', ')}`)
  }
  return found
}
