module kperf.test/calls

go 1.24
