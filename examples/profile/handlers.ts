import type { Reprieve } from 'reprieve'
import { openProfiles, profileOf, subjectOf } from './profiles.ts'

export const profiles = await openProfiles(process.env.PROFILE_DATABASE)

export default (app: Pick<Reprieve, 'service'>): void => {
  app
    .service('profile')
    .on('user.registered', async ({ data }, ctx) => {
      const profile = profileOf(data)
      await ctx.call('database', () => profiles.insertOrIgnore(profile))
    })
    .on('user.updated', async ({ data }, ctx) => {
      const profile = profileOf(data)
      await ctx.call('database', () => profiles.upsert(profile))
    })
    .on('user.deleted', async ({ data }, ctx) => {
      const subject = subjectOf(data)
      await ctx.call('database', () => profiles.remove(subject))
    })
}
