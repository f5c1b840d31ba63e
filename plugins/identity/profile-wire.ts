import type { User } from '../../core/identity/types.ts'

export const profileWire = (user: User) => ({
  name: user.login,
  full_name: user.fullName,
  email: user.primaryEmail,
  keep_email_private: user.hideEmail,
  website: user.website,
  location: user.location,
  language: user.language,
  description: user.description,
})
