import { userExample } from './codecs.ts'

/** A user as site admins, and the user, see one. */
export const fullUserExample = { ...userExample, email: 'ada@example.org', active: true, login_name: 'ada', language: 'en-US' }

export const emailExample = { email: 'ada@example.org', verified: true, primary: true, user_id: 7, username: 'ada' }

export const profileExample = {
  name: 'ada',
  full_name: 'Ada Lovelace',
  email: 'ada@example.org',
  keep_email_private: true,
  website: '',
  location: 'London',
  language: 'en-US',
  description: '',
}
