module stranger

go 1.26.0

require ftracelab v0.0.0
