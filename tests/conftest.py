"""Settings of all tests: generated cases are not timed, since machines that run them are shared and slow at times."""

from hypothesis import HealthCheck, settings

settings.register_profile("hedgerow", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hedgerow")
